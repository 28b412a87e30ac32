package admin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/session"
	"go.storefront.example/gen/ent/signinlink"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/dashboard/signin"
	"go.storefront.example/server/validate"
)

func sessionOf(row *ent.Session, slug string) *adminv1.Session {
	return &adminv1.Session{
		Id: row.ID.String(), Kind: adminv1.Session_session, Store: &adminv1.Session_Store{Id: row.StoreID.String(), Slug: slug},
		Member: row.Member, Role: enum[adminv1.Session_Role](row.Role), CreatedAt: apijson.Timestamp(row.CreatedAt),
		ExpiresAt: apijson.Timestamp(row.ExpiresAt), LastUsedAt: apijson.OptionalTimestamp(row.LastUsedAt),
		EndedAt: apijson.OptionalTimestamp(row.EndedAt),
	}
}

func linkOf(row *ent.SignInLink, slug string) *adminv1.Session {
	return &adminv1.Session{
		Id: row.ID.String(), Kind: adminv1.Session_link, Store: &adminv1.Session_Store{Id: row.StoreID.String(), Slug: slug},
		Member: row.Member, Role: enum[adminv1.Session_Role](row.Role), CreatedAt: apijson.Timestamp(row.CreatedAt),
		ExpiresAt: apijson.Timestamp(row.ExpiresAt), EndedAt: apijson.OptionalTimestamp(cmp.Or(row.RevokedAt, row.UsedAt)),
	}
}

// ListSessions returns a page of running sessions and usable links, in one store or in all.
func (o *Operator) ListSessions(ctx context.Context, in *adminv1.ListSessionsRequest) (*adminv1.ListSessionsResponse, error) {
	var refused problems
	p := refused.page(in, in.GetPageToken())
	if err := refused.Err(); err != nil {
		return nil, err
	}
	links := o.db.Client().SignInLink.Query().Where(signin.UsableLink(o.db))
	sessions := o.db.Client().Session.Query().Where(signin.ActiveSession(o.db))
	if _, _, hasStore := tenant.From(ctx); hasStore || in.GetStore() != "" {
		ctx, err := o.WithStore(ctx, in.GetStore())
		if err != nil {
			return nil, err
		}
		t, _, _ := tenant.From(ctx)
		links, sessions = links.Where(signinlink.StoreID(t.ID)), sessions.Where(session.StoreID(t.ID))
	}
	// Read in this order, a member who signs in meanwhile is read twice, and the link left out below; in the other, not at all.
	unused, err := links.Where(p.rows).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sign-in links: %w", err)
	}
	begun, err := sessions.Where(p.rows).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	unused = slices.DeleteFunc(unused, func(l *ent.SignInLink) bool {
		return slices.ContainsFunc(begun, func(s *ent.Session) bool { return s.ID == l.ID })
	})
	slugs, err := o.slugs(ctx, begun, unused)
	if err != nil {
		return nil, err
	}
	all := append(convertAll(begun, func(row *ent.Session) *adminv1.Session { return sessionOf(row, slugs[row.StoreID]) }),
		convertAll(unused, func(row *ent.SignInLink) *adminv1.Session { return linkOf(row, slugs[row.StoreID]) })...)
	// Ids are texts in lower case here, which sort as the ids' bytes do.
	slices.SortFunc(all, func(a, b *adminv1.Session) int {
		return cmp.Or(b.CreatedAt.AsTime().Compare(a.CreatedAt.AsTime()), cmp.Compare(b.Id, a.Id))
	})
	all, next := pageOf(p, all, func(s *adminv1.Session) *adminv1.Session { return s })
	return &adminv1.ListSessionsResponse{Sessions: all, NextPageToken: next}, nil
}

func (o *Operator) slugs(ctx context.Context, sessions []*ent.Session, links []*ent.SignInLink) (map[uuid.UUID]string, error) {
	slugs := map[uuid.UUID]string{}
	for _, s := range sessions {
		slugs[s.StoreID] = ""
	}
	for _, l := range links {
		slugs[l.StoreID] = ""
	}
	rows, err := o.db.Client().Store.Query().Where(store.IDIn(slices.Collect(maps.Keys(slugs))...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the stores of sessions: %w", err)
	}
	for _, row := range rows {
		slugs[row.ID] = row.Slug
	}
	return slugs, nil
}

// RevokeSession ends a session, or an unused link. If a member has signed in with the link meanwhile, it ends the session,
// which has the link's id.
func (o *Operator) RevokeSession(ctx context.Context, in *adminv1.RevokeSessionRequest) (*adminv1.Session, error) {
	ctx, err := o.withRowStore(ctx, sessionKind, in.GetStore(), in.GetId())
	if err != nil {
		return nil, err
	}
	t, _, _ := tenant.From(ctx)
	rowID, ok := validate.ParseID(in.GetId())
	if !ok {
		return nil, sessionKind.notFound(in.GetId())
	}
	return hook.Answer(ctx, o.db, func(c *hook.Change) (*adminv1.Session, error) {
		sessions, links, err := signin.End(c, []predicate.Session{session.StoreID(t.ID), session.ID(rowID)},
			[]predicate.SignInLink{signinlink.StoreID(t.ID), signinlink.ID(rowID)})
		if err != nil {
			return nil, err
		}
		revoked, err := readSession(c, t, rowID)
		if err != nil {
			return nil, err
		}
		if sessions+links > 0 {
			resource := map[adminv1.Session_Kind]string{adminv1.Session_session: "session",
				adminv1.Session_link: "sign_in_link"}[revoked.Kind]
			c.Record(resource+".revoked", resource, rowID,
				hook.FieldChange{Field: "member", To: revoked.Member}, hook.FieldChange{Field: "endedAt", To: c.Time()})
		}
		return revoked, nil
	})
}

// readSession returns the session or else the unused sign-in link with this id.
func readSession(c *hook.Change, t tenant.Store, id uuid.UUID) (*adminv1.Session, error) {
	begun, err := c.Tx.Session.Query().Where(session.StoreID(t.ID), session.ID(id)).Only(c)
	if err == nil {
		return sessionOf(begun, t.Slug), nil
	}
	if !ent.IsNotFound(err) {
		return nil, fmt.Errorf("read a session: %w", err)
	}
	link, err := c.Tx.SignInLink.Query().Where(signinlink.StoreID(t.ID), signinlink.ID(id)).Only(c)
	if ent.IsNotFound(err) { // the link expired and was deleted after withRowStore had found it
		return nil, sessionKind.notFound(id.String())
	}
	if err != nil {
		return nil, fmt.Errorf("read a sign-in link: %w", err)
	}
	return linkOf(link, t.Slug), nil
}

// RevokeSessions ends all sessions and unused links of a store, or of one member.
func (o *Operator) RevokeSessions(ctx context.Context, in *adminv1.RevokeSessionsRequest) (*adminv1.RevokeSessionsResponse,
	error) {
	ctx, err := o.WithStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	t, _, _ := tenant.From(ctx)
	ofStore, linksOfStore := []predicate.Session{session.StoreID(t.ID)}, []predicate.SignInLink{signinlink.StoreID(t.ID)}
	var whose []hook.FieldChange
	if in.GetMember() != "" {
		member, err := MemberName("member", in.GetMember())
		if err != nil {
			return nil, err
		}
		ofStore, linksOfStore = append(ofStore, session.Member(member)), append(linksOfStore, signinlink.Member(member))
		whose = []hook.FieldChange{{Field: "member", To: member}}
	}
	return hook.Answer(ctx, o.db, func(c *hook.Change) (*adminv1.RevokeSessionsResponse, error) {
		sessions, links, err := signin.End(c, ofStore, linksOfStore)
		if err != nil {
			return nil, err
		}
		if sessions+links > 0 {
			c.Record("store.signed_out", "store", t.ID, append(whose[:len(whose):len(whose)],
				hook.FieldChange{Field: "sessions", To: int64(sessions)}, hook.FieldChange{Field: "links", To: int64(links)})...)
		}
		return &adminv1.RevokeSessionsResponse{Sessions: int32(sessions), Links: int32(links)}, nil //nolint:gosec // No store has 2^31 sessions or links.
	})
}

// CreateSignInLink creates a link that signs a member in once. Only the answer has its secret.
func (o *Operator) CreateSignInLink(ctx context.Context, in *adminv1.CreateSignInLinkRequest) (*adminv1.CreateSignInLinkResponse,
	error) {
	ctx, err := o.WithStore(ctx, in.GetStore())
	if err != nil {
		return nil, err
	}
	member, err := MemberName("member", in.GetMember())
	if err != nil {
		return nil, err
	}
	expiry := signin.DefaultExpiry
	if in.ExpiresSeconds != nil {
		expiry = time.Duration(in.GetExpiresSeconds()) * time.Second
	}
	origin, badURL := signin.CheckBaseURL(in.GetBaseUrl())
	var refused problems
	refused.Declared(in, nil)
	if !slices.Contains(signin.Roles(), in.GetRole().String()) {
		refused.Invalid("role", "must be "+strings.Join(signin.Roles(), " or "))
	}
	if badURL != nil {
		refused.Invalid("baseUrl", badURL.Error())
	}
	if err := refused.Err(); err != nil {
		return nil, err
	}
	owner, _, _ := tenant.From(ctx)
	linkID, secret, expiresAt, err := o.sessions.Create(ctx, signin.Link{
		StoreID: owner.ID, Member: member, Role: in.GetRole().String(), Origin: origin, Expiry: expiry,
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.CreateSignInLinkResponse{
		Id: linkID.String(), Url: strings.TrimRight(in.GetBaseUrl(), "/") + signin.Path + secret, ExpiresAt: apijson.Timestamp(expiresAt),
	}, nil
}
