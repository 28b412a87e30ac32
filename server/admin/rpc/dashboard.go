package rpc

import (
	"context"
	"time"

	"go.storefront.example/ent/wire"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
)

// CreateSignInLink serves DashboardService.CreateSignInLink.
func (s service) CreateSignInLink(ctx context.Context, in *adminv1.CreateSignInLinkRequest) (*adminv1.CreateSignInLinkResponse, error) {
	expires := admin.DefaultSignInExpiry
	if in.ExpiresSeconds != nil {
		// None is no time at all here, and no default.
		expires = max(time.Duration(in.GetExpiresSeconds())*time.Second, time.Nanosecond)
	}
	link, err := s.operator.CreateSignInLink(ctx, in.GetStore(), in.GetMember(), in.GetRole(), expires)
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateSignInLinkResponse{Secret: link.Secret, Path: link.URL(""), ExpiresAt: wire.Timestamp(link.ExpiresAt)}, nil
}

// CreateSignInLink is admin.Operator's. The time is told in seconds, rounded up.
func (c *Client) CreateSignInLink(ctx context.Context, storeName, member, role string, expires time.Duration) (admin.SignInLink, error) {
	in := &adminv1.CreateSignInLinkRequest{Store: storeName, Member: member, Role: role}
	if expires != 0 {
		in.ExpiresSeconds = limitOf(int((expires + time.Second - 1) / time.Second))
	}
	out, err := c.dashboard.CreateSignInLink(ctx, in)
	return read(c, out, err, func(out *adminv1.CreateSignInLinkResponse) (admin.SignInLink, error) {
		return admin.SignInLink{Secret: out.GetSecret(), ExpiresAt: out.GetExpiresAt().AsTime()}, nil
	})
}
