package rpc

import (
	"context"
	"time"

	"go.storefront.example/ent/wire"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

// sessionMessage is a session or a sign-in link.
func sessionMessage(s admin.Session) *adminv1.Session {
	return &adminv1.Session{
		Id: s.ID.String(), Kind: enum[adminv1.Session_Kind](s.Kind), Store: &adminv1.Session_Store{Id: s.StoreID.String(), Slug: s.StoreSlug},
		Member: s.Member, Role: s.Role, CreatedAt: wire.Timestamp(s.CreatedAt), ExpiresAt: wire.Timestamp(s.ExpiresAt),
		LastUsedAt: wire.OptionalTimestamp(s.LastUsedAt), EndedAt: wire.OptionalTimestamp(s.EndedAt),
	}
}

// sessionOf is what sessionMessage made a message of.
func sessionOf(m *adminv1.Session) (admin.Session, error) {
	var r ids
	return admin.Session{
		ID: r.read(m.GetId()), Kind: m.GetKind().String(), StoreID: r.read(m.GetStore().GetId()), StoreSlug: m.GetStore().GetSlug(),
		Member: m.GetMember(), Role: m.GetRole(), CreatedAt: m.GetCreatedAt().AsTime(), ExpiresAt: m.GetExpiresAt().AsTime(),
		LastUsedAt: moment(m.GetLastUsedAt()), EndedAt: moment(m.GetEndedAt()),
	}, r.err
}

// CreateSignInLink serves DashboardService.CreateSignInLink.
func (s handlers) CreateSignInLink(ctx context.Context, in *adminv1.CreateSignInLinkRequest) (*adminv1.CreateSignInLinkResponse, error) {
	d := admin.SignInLinkDraft{Member: in.GetMember(), Role: in.GetRole(), Expires: admin.DefaultSignInExpiry, BaseURL: in.GetBaseUrl()}
	if in.ExpiresSeconds != nil {
		// None is no time at all here, and no default.
		d.Expires = max(time.Duration(in.GetExpiresSeconds())*time.Second, time.Nanosecond)
	}
	link, err := s.operator.CreateSignInLink(ctx, in.GetStore(), d)
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateSignInLinkResponse{Id: link.ID.String(), Url: link.URL, ExpiresAt: wire.Timestamp(link.ExpiresAt)}, nil
}

// ListSessions serves DashboardService.ListSessions.
func (s handlers) ListSessions(ctx context.Context, in *adminv1.ListSessionsRequest) (*adminv1.ListSessionsResponse, error) {
	var f fields
	limit := f.limit(in.Limit)
	if err := f.err(); err != nil {
		return nil, err
	}
	sessions, err := s.operator.ListSessions(ctx, in.GetStore(), limit)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListSessionsResponse{}
	for _, one := range sessions {
		out.Sessions = append(out.Sessions, sessionMessage(one))
	}
	return out, nil
}

// RevokeSession serves DashboardService.RevokeSession.
func (s handlers) RevokeSession(ctx context.Context, in *adminv1.RevokeSessionRequest) (*adminv1.Session, error) {
	ended, err := s.operator.RevokeSession(ctx, in.GetId())
	if err != nil {
		return nil, err
	}
	return sessionMessage(ended), nil
}

// RevokeSessions serves DashboardService.RevokeSessions.
func (s handlers) RevokeSessions(ctx context.Context, in *adminv1.RevokeSessionsRequest) (*adminv1.RevokeSessionsResponse, error) {
	ended, err := s.operator.RevokeSessions(ctx, in.GetStore(), in.GetMember())
	if err != nil {
		return nil, err
	}
	return &adminv1.RevokeSessionsResponse{Sessions: *limitOf(ended.Sessions), Links: *limitOf(ended.Links)}, nil
}

// CreateSignInLink is admin.Operator's. The request carries the time in seconds, rounded up.
func (c *Client) CreateSignInLink(ctx context.Context, storeName string, d admin.SignInLinkDraft) (admin.SignInLink, error) {
	in := &adminv1.CreateSignInLinkRequest{Store: storeName, Member: d.Member, Role: d.Role, BaseUrl: d.BaseURL}
	if d.Expires != 0 {
		in.ExpiresSeconds = limitOf(int((d.Expires + time.Second - 1) / time.Second))
	}
	out, err := c.dashboard.CreateSignInLink(ctx, in)
	return read(c, out, err, func(out *adminv1.CreateSignInLinkResponse) (admin.SignInLink, error) {
		var r ids
		return admin.SignInLink{ID: r.read(out.GetId()), URL: out.GetUrl(), ExpiresAt: out.GetExpiresAt().AsTime()}, r.err
	})
}

// ListSessions is admin.Operator's.
func (c *Client) ListSessions(ctx context.Context, storeName string, limit int) ([]admin.Session, error) {
	out, err := c.dashboard.ListSessions(ctx, &adminv1.ListSessionsRequest{Store: storeName, Limit: limitOf(limit)})
	return read(c, out, err, func(out *adminv1.ListSessionsResponse) ([]admin.Session, error) {
		return each(out.GetSessions(), sessionOf)
	})
}

// RevokeSession is admin.Operator's.
func (c *Client) RevokeSession(ctx context.Context, id string) (admin.Session, error) {
	out, err := c.dashboard.RevokeSession(ctx, &adminv1.RevokeSessionRequest{Id: id})
	return read(c, out, err, sessionOf)
}

// RevokeSessions is admin.Operator's.
func (c *Client) RevokeSessions(ctx context.Context, storeName, member string) (admin.Ended, error) {
	out, err := c.dashboard.RevokeSessions(ctx, &adminv1.RevokeSessionsRequest{Store: storeName, Member: member})
	return read(c, out, err, func(out *adminv1.RevokeSessionsResponse) (admin.Ended, error) {
		return admin.Ended{Sessions: int(out.GetSessions()), Links: int(out.GetLinks())}, nil
	})
}
