package admin

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/session"
	"go.storefront.example/gen/ent/signinlink"
	"go.storefront.example/gen/ent/store"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// The kinds of Session.
const (
	KindSession = "session"
	KindLink    = "link"
)

// Session is a member's access to the dashboard of a store: a link that can sign the member in, then
// the session that it began, under the same id. It has no secret and no fingerprint of one.
type Session struct {
	ID uuid.UUID
	// Kind is KindSession or KindLink.
	Kind      string
	StoreID   uuid.UUID
	StoreSlug string
	Member    string
	// Role is one of Roles.
	Role string
	// CreatedAt is when the member signed in, or the link was made.
	CreatedAt, ExpiresAt time.Time
	// LastUsedAt is when the member last opened a page, to the minute or so; nil for a link.
	LastUsedAt *time.Time
	// EndedAt is when it was revoked, or the member signed out or used the link; nil while it lasts.
	EndedAt *time.Time
}

func sessionOf(row *ent.Session) Session {
	return Session{
		ID: row.ID, Kind: KindSession, StoreID: row.StoreID, Member: row.Member, Role: row.Role,
		CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, LastUsedAt: row.LastUsedAt, EndedAt: row.EndedAt,
	}
}

func linkOf(row *ent.SignInLink) Session {
	return Session{
		ID: row.ID, Kind: KindLink, StoreID: row.StoreID, Member: row.Member, Role: row.Role,
		CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, EndedAt: cmp.Or(row.RevokedAt, row.UsedAt),
	}
}

// ListSessions returns the newest sessions that last and links that can be used, at most limit, of one
// store or, without a name, of all. It refuses with store_not_found.
func (o *Operator) ListSessions(ctx context.Context, storeName string, limit int) ([]Session, error) {
	now := o.store.Now()
	links := o.store.Client().SignInLink.Query().Where(usable(now))
	sessions := o.store.Client().Session.Query().Where(lasting(now))
	if storeName != "" {
		in, err := o.In(ctx, storeName)
		if err != nil {
			return nil, err
		}
		t, _, _ := tenant.From(in)
		links, sessions = links.Where(signinlink.StoreID(t.ID)), sessions.Where(session.StoreID(t.ID))
	}
	// The links first: one that is used meanwhile is found twice, and not missed.
	unused, err := links.Order(signinlink.ByCreatedAt(sql.OrderDesc()), signinlink.ByID(sql.OrderDesc())).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sign-in links: %w", err)
	}
	begun, err := sessions.Order(session.ByCreatedAt(sql.OrderDesc()), session.ByID(sql.OrderDesc())).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	all := make([]Session, 0, len(begun)+len(unused))
	for _, row := range begun {
		all = append(all, sessionOf(row))
	}
	for _, row := range unused {
		if !slices.ContainsFunc(begun, func(s *ent.Session) bool { return s.ID == row.ID }) {
			all = append(all, linkOf(row))
		}
	}
	slices.SortFunc(all, func(a, b Session) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.ID[:], a.ID[:]))
	})
	all = all[:min(limit, len(all))]
	return all, o.nameStores(ctx, all)
}

// nameStores completes sessions with the slugs of their stores.
func (o *Operator) nameStores(ctx context.Context, all []Session) error {
	ids := make([]uuid.UUID, len(all))
	for i, s := range all {
		ids[i] = s.StoreID
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	rows, err := o.store.Client().Store.Query().Where(store.IDIn(slices.Compact(ids)...)).All(ctx)
	if err != nil {
		return fmt.Errorf("read the stores of sessions: %w", err)
	}
	slugs := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		slugs[row.ID] = row.Slug
	}
	for i := range all {
		all[i].StoreSlug = slugs[all[i].StoreID]
	}
	return nil
}

// RevokeSession ends a session, with effect from its next request on every server, or a link that was
// not used. The id of a link that was used meanwhile ends the session that it began. What has ended
// stays as it is. It refuses with session_not_found.
func (o *Operator) RevokeSession(ctx context.Context, id string) (Session, error) {
	ctx, err := o.inSession(ctx, id)
	if err != nil {
		return Session{}, err
	}
	t, _, _ := tenant.From(ctx)
	rowID := uuid.MustParse(id)
	var revoked Session
	err = o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		n, err := end(ctx, tx, []predicate.SignInLink{signinlink.ID(rowID)}, []predicate.Session{session.ID(rowID)})
		if err != nil {
			return err
		}
		if revoked, err = readSession(ctx, tx, t, rowID); err != nil {
			return err
		}
		if n != (Ended{}) {
			action := map[string]string{KindSession: "session.revoked", KindLink: "sign_in_link.revoked"}[revoked.Kind]
			hook.Record(ctx, action, strings.TrimSuffix(action, ".revoked"), rowID,
				hook.Change{Field: "member", To: revoked.Member}, hook.Change{Field: "endedAt", To: hook.Time(ctx)})
		}
		return nil
	})
	return revoked, err
}

// inSession is In for the store that owns the session or the link.
func (o *Operator) inSession(ctx context.Context, id string) (context.Context, error) {
	var owner uuid.UUID
	if parsed, err := uuid.Parse(id); err == nil {
		link, err := o.store.Client().SignInLink.Query().Where(signinlink.ID(parsed)).Only(ctx)
		switch {
		case err == nil:
			owner = link.StoreID
		case !ent.IsNotFound(err):
			return nil, fmt.Errorf("find the owner of %s: %w", id, err)
		default:
			begun, err := o.store.Client().Session.Query().Where(session.ID(parsed)).Only(ctx)
			if err == nil {
				owner = begun.StoreID
			} else if !ent.IsNotFound(err) {
				return nil, fmt.Errorf("find the owner of %s: %w", id, err)
			}
		}
	}
	return o.inOwner(ctx, id, apierr.SessionNotFound, func(uuid.UUID) *ent.StoreQuery {
		return o.store.Client().Store.Query().Where(store.ID(owner))
	})
}

// readSession returns the session with an id or, before there is one, its link.
func readSession(ctx context.Context, tx *ent.Tx, t tenant.Store, id uuid.UUID) (Session, error) {
	var found Session
	begun, err := tx.Session.Query().Where(session.StoreID(t.ID), session.ID(id)).Only(ctx)
	switch {
	case err == nil:
		found = sessionOf(begun)
	case !ent.IsNotFound(err):
		return Session{}, fmt.Errorf("read a session: %w", err)
	default:
		link, err := tx.SignInLink.Query().Where(signinlink.StoreID(t.ID), signinlink.ID(id)).Only(ctx)
		if ent.IsNotFound(err) { // It expired, and was cleared away since it was found.
			return Session{}, noneWith(apierr.SessionNotFound, id.String())
		}
		if err != nil {
			return Session{}, fmt.Errorf("read a sign-in link: %w", err)
		}
		found = linkOf(link)
	}
	found.StoreSlug = t.Slug
	return found, nil
}

// Ended is how many sessions and unused links were ended.
type Ended struct{ Sessions, Links int }

// RevokeSessions ends all sessions and unused links of a store or, with a member's name, of that
// member, with effect from the next request on every server. It refuses with store_not_found or
// validation_failed.
func (o *Operator) RevokeSessions(ctx context.Context, storeName, member string) (Ended, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return Ended{}, err
	}
	t, _, _ := tenant.From(ctx)
	links, sessions := []predicate.SignInLink{signinlink.StoreID(t.ID)}, []predicate.Session{session.StoreID(t.ID)}
	var whose []hook.Change
	if member != "" {
		if member, err = service.MemberName("member", member); err != nil {
			return Ended{}, err
		}
		links, sessions = append(links, signinlink.Member(member)), append(sessions, session.Member(member))
		whose = []hook.Change{{Field: "member", To: member}}
	}
	var ended Ended
	err = o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		var err error
		if ended, err = end(ctx, tx, links, sessions); err != nil || ended == (Ended{}) {
			return err
		}
		hook.Record(ctx, "store.signed_out", "store", t.ID, append(whose[:len(whose):len(whose)],
			hook.Change{Field: "sessions", To: int64(ended.Sessions)}, hook.Change{Field: "links", To: int64(ended.Links)})...)
		return nil
	})
	return ended, err
}

// end ends what can be used of links and sessions. The links come first: a transaction that uses one
// holds its row, and once that is committed the session that it began is seen, and ended.
func end(ctx context.Context, tx *ent.Tx, links []predicate.SignInLink, sessions []predicate.Session) (Ended, error) {
	now := hook.Time(ctx)
	unused, err := tx.SignInLink.Update().Where(append(links, usable(now))...).SetRevokedAt(now).Save(ctx)
	if err != nil {
		return Ended{}, fmt.Errorf("revoke sign-in links: %w", err)
	}
	begun, err := tx.Session.Update().Where(append(sessions, lasting(now))...).SetEndedAt(now).Save(ctx)
	if err != nil {
		return Ended{}, fmt.Errorf("end sessions: %w", err)
	}
	return Ended{Sessions: begun, Links: unused}, nil
}
