// Package signin signs members of stores in to the dashboard: by links that work once, into sessions that a cookie names.
// Only the fingerprints of links' and sessions' secrets are stored.
//
//	operator: Create ──► link ──► the member's browser: LinkMember, SignIn ──► session ──► Authenticate on each page, KeepAlive
//	           End ──────┴─ unused ─────────────────────────────── SignOut, End ──────┘
package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/session"
	"go.storefront.example/gen/ent/signinlink"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/shop"
)

// Roles returns the roles that may sign in (specification, Authentication).
func Roles() []string {
	return []string{adminv1.Session_owner.String(), adminv1.Session_admin.String()}
}

const (
	// DefaultExpiry is that of a link for which the request sets none.
	DefaultExpiry = 10 * time.Minute
	// SessionLength counts from signing in or KeepAlive, active or not.
	SessionLength = 12 * time.Hour
)

// Path begins a sign-in link's path on the admin listener. The secret follows.
const Path = "/dashboard/sign-in?token="

// lastUsedPrecision is that of the stored time of a session's last use.
const lastUsedPrecision = time.Minute

// secretBytes are 256 random bits, which cannot be guessed.
const secretBytes = 32

// Member is a member who is signed in, or whom a link can sign in.
type Member struct {
	Name string
	// Role is owner or admin.
	Role string
	// StoreName is the store's name as pages show it.
	StoreName string
	// ExpiresAt is that of the session or the link.
	ExpiresAt time.Time
	// Origin is the scheme and host of the sign-in link, such as https://dashboard.example.com, or empty for a link of an older
	// release.
	Origin string
}

// Secure is true if browsers send the session's cookie only over HTTPS.
func (m Member) Secure() bool { return !strings.HasPrefix(m.Origin, "http://") }

// CheckBaseURL returns the origin of the address of the dashboard: https, or http on a loopback address, because a session's
// cookie must not leave this machine unencrypted; without a query or a fragment.
func CheckBaseURL(address string) (origin string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return "", fmt.Errorf("must be an address such as https://dashboard.example.com, not %q", address)
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return "", fmt.Errorf("must be an https address: over http nobody can sign in beyond this machine, not %q", address)
	}
	// Browsers write an origin in lower case and without the default port (RFC 6454, section 6.2).
	port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), port), nil
}

func loopback(host string) bool {
	host = strings.ToLower(host)
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

var (
	// ErrLink means that no link has this secret, or that it was used or has expired.
	ErrLink = errors.New("no such sign-in link, or no longer")
	// ErrNoSession means that no session has this secret, or that it has ended.
	ErrNoSession = errors.New("no such session, or no longer")
)

// Sessions has the operations on links and sessions. Goroutines may share it.
type Sessions struct{ db *db.DB }

// New returns the sessions of a database.
func New(d *db.DB) *Sessions { return &Sessions{d} }

// Link is a sign-in link to create.
type Link struct {
	StoreID uuid.UUID
	// Member is the member's name, and Role one of Roles.
	Member, Role string
	// Origin is as CheckBaseURL returns it.
	Origin string
	// Expiry is how long the link can be used.
	Expiry time.Duration
}

// Create creates a link that signs a member in once. Only the secret's fingerprint is stored.
func (s *Sessions) Create(ctx context.Context, l Link) (linkID uuid.UUID, secret string, expiresAt time.Time, err error) {
	secret, fingerprint := newSecret()
	err = hook.Run(ctx, s.db, func(c *hook.Change) error {
		now := c.Time()
		linkID, expiresAt = id.At(now), now.Add(l.Expiry)
		// Links are created often enough that no worker needs to delete expired ones.
		if _, err := c.Tx.SignInLink.Delete().Where(s.db.IsPast(signinlink.FieldExpiresAt)).Exec(c); err != nil {
			return err
		}
		if _, err := c.Tx.Session.Delete().Where(s.db.IsPast(session.FieldExpiresAt)).Exec(c); err != nil {
			return err
		}
		c.Record("sign_in_link.created", "sign_in_link", linkID, hook.FieldChange{Field: "member", To: l.Member},
			hook.FieldChange{Field: "role", To: l.Role}, hook.FieldChange{Field: "expiresAt", To: expiresAt})
		return c.Tx.SignInLink.Create().SetID(linkID).SetStoreID(l.StoreID).SetFingerprint(fingerprint).SetMember(l.Member).
			SetRole(l.Role).SetOrigin(l.Origin).SetExpiresAt(expiresAt).SetCreatedAt(now).Exec(c)
	})
	if err != nil {
		return uuid.Nil, "", time.Time{}, fmt.Errorf("create a sign-in link: %w", err)
	}
	return linkID, secret, expiresAt, nil
}

// LinkMember returns whom a link would sign in, without using it up. It fails with ErrLink.
func (s *Sessions) LinkMember(ctx context.Context, secret string) (Member, error) {
	row, err := s.db.Client().SignInLink.Query().
		Where(signinlink.Fingerprint(fingerprintOf(secret)), UsableLink(s.db)).Only(ctx)
	if ent.IsNotFound(err) {
		return Member{}, ErrLink
	}
	if err != nil {
		return Member{}, fmt.Errorf("read a sign-in link: %w", err)
	}
	in, err := storeOf(ctx, s.db.Client().Store, row.StoreID, ErrLink)
	if err != nil {
		return Member{}, err
	}
	return Member{Name: row.Member, Role: row.Role, StoreName: in.Name, ExpiresAt: row.ExpiresAt, Origin: row.Origin}, nil
}

// SignIn uses up a link and begins a session, which gets the link's id, and ends oldSessions, the earlier ones of the browser.
// Of two calls with one link, one fails with ErrLink.
func (s *Sessions) SignIn(ctx context.Context, linkSecret string, oldSessions ...string) (secret string, err error) {
	secret, fingerprint := newSecret()
	link := fingerprintOf(linkSecret)
	if ctx, err = s.asMember(ctx, link); err != nil {
		return "", err
	}
	err = hook.Run(ctx, s.db, func(c *hook.Change) error {
		now := c.Time()
		used, err := c.Tx.SignInLink.Update().Where(signinlink.Fingerprint(link), UsableLink(s.db)).SetUsedAt(now).Save(c)
		if err != nil {
			return fmt.Errorf("use a sign-in link: %w", err)
		}
		if used != 1 {
			return ErrLink
		}
		row, err := c.Tx.SignInLink.Query().Where(signinlink.Fingerprint(link)).Only(c)
		if err != nil {
			return fmt.Errorf("read a sign-in link: %w", err)
		}
		if _, err := storeOf(c, c.Tx.Store, row.StoreID, ErrLink); err != nil {
			return err
		}
		for _, oldSecret := range oldSessions {
			if err := endSession(c, oldSecret); err != nil {
				return err
			}
		}
		err = c.Tx.Session.Create().SetID(row.ID).SetStoreID(row.StoreID).SetFingerprint(fingerprint).SetMember(row.Member).SetRole(
			row.Role).
			SetOrigin(row.Origin).SetExpiresAt(now.Add(SessionLength)).SetCreatedAt(now).Exec(c)
		if err != nil {
			return fmt.Errorf("begin a session: %w", err)
		}
		c.Record("session.created", "session", row.ID, hook.FieldChange{Field: "role", To: row.Role})
		return nil
	})
	return secret, err
}

// asMember returns the context of a usable link's member, for the journal entry, or ErrLink.
func (s *Sessions) asMember(ctx context.Context, link []byte) (context.Context, error) {
	row, err := s.db.Client().SignInLink.Query().Where(signinlink.Fingerprint(link), UsableLink(s.db)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, ErrLink
	}
	if err != nil {
		return nil, fmt.Errorf("read a sign-in link: %w", err)
	}
	in, err := storeOf(ctx, s.db.Client().Store, row.StoreID, ErrLink)
	if err != nil {
		return nil, err
	}
	return tenant.With(ctx, shop.TenantOf(in), tenant.Actor{Type: tenant.ActorMember, Name: row.Member}), nil
}

// Authenticate returns a context with the session's store, and the member as the actor. secure is true if the secret came in
// the cookie for https. It fails with ErrNoSession, also for a session of the other cookie.
func (s *Sessions) Authenticate(ctx context.Context, secret string, secure bool) (context.Context, Member, error) {
	now := s.db.Now()
	row, err := s.db.Client().Session.Query().Where(session.Fingerprint(fingerprintOf(secret)), ActiveSession(s.db)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, Member{}, ErrNoSession
	}
	if err != nil {
		return nil, Member{}, fmt.Errorf("read a session: %w", err)
	}
	member := Member{Name: row.Member, Role: row.Role, ExpiresAt: row.ExpiresAt, Origin: row.Origin}
	if member.Secure() != secure {
		return nil, Member{}, ErrNoSession
	}
	in, err := storeOf(ctx, s.db.Client().Store, row.StoreID, ErrNoSession)
	if err != nil {
		return nil, Member{}, err
	}
	if row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= lastUsedPrecision {
		err := hook.Run(ctx, s.db, func(c *hook.Change) error {
			return c.Tx.Session.Update().Where(session.ID(row.ID)).SetLastUsedAt(c.Time()).Exec(c)
		})
		if err != nil {
			return nil, Member{}, fmt.Errorf("note the use of a session: %w", err)
		}
	}
	member.StoreName = in.Name
	return tenant.With(ctx, shop.TenantOf(in), tenant.Actor{Type: tenant.ActorMember, Name: row.Member}), member, nil
}

// storeOf returns notFound also while the store is being deleted, because members may not sign in to it.
func storeOf(ctx context.Context, stores *ent.StoreClient, storeID uuid.UUID, notFound error) (*ent.Store, error) {
	row, err := stores.Get(ctx, storeID)
	switch {
	case ent.IsNotFound(err), err == nil && row.DeletionBeganAt != nil:
		return nil, notFound
	case err != nil:
		return nil, fmt.Errorf("read the store of a session: %w", err)
	}
	return row, nil
}

// KeepAlive makes a session last for SessionLength from now. It does not revive an ended one.
func (s *Sessions) KeepAlive(ctx context.Context, secret string) error {
	return hook.Run(ctx, s.db, func(c *hook.Change) error {
		expiresAt := c.Time().Add(SessionLength)
		return c.Tx.Session.Update().Where(session.Fingerprint(fingerprintOf(secret)), ActiveSession(s.db),
			session.ExpiresAtLT(expiresAt.Add(-lastUsedPrecision))).
			SetExpiresAt(expiresAt).Exec(c)
	})
}

// SignOut does nothing to a session that has ended.
func (s *Sessions) SignOut(ctx context.Context, secret string) error {
	return hook.Run(ctx, s.db, func(c *hook.Change) error { return endSession(c, secret) })
}

func endSession(c *hook.Change, secret string) error {
	err := c.Tx.Session.Update().Where(session.Fingerprint(fingerprintOf(secret)),
		session.EndedAtIsNil()).SetEndedAt(c.Time()).Exec(c)
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// UsableLink selects the links that can still sign a member in.
func UsableLink(d *db.DB) predicate.SignInLink {
	return signinlink.And(signinlink.UsedAtIsNil(), signinlink.RevokedAtIsNil(), d.IsFuture(signinlink.FieldExpiresAt),
		signinlink.RoleIn(Roles()...))
}

// ActiveSession selects the sessions that have not ended.
func ActiveSession(d *db.DB) predicate.Session {
	return session.And(session.EndedAtIsNil(), d.IsFuture(session.FieldExpiresAt), session.RoleIn(Roles()...))
}

func newSecret() (secret string, fingerprint []byte) {
	var random [secretBytes]byte
	_, _ = rand.Read(random[:]) // rand.Read never fails; it ends the process instead
	secret = base64.RawURLEncoding.EncodeToString(random[:])
	return secret, fingerprintOf(secret)
}

// fingerprintOf returns what is stored in place of a secret.
func fingerprintOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// End counts the sessions and unused links that it ends. It ends links first: if another transaction signs in with one, End
// waits for it and then ends its session.
func End(c *hook.Change, sessionConditions []predicate.Session, linkConditions []predicate.SignInLink) (
	sessions, links int, err error) {
	now := c.Time()
	links, err = c.Tx.SignInLink.Update().Where(append(linkConditions, UsableLink(c.DB))...).SetRevokedAt(now).Save(c)
	if err != nil {
		return 0, 0, fmt.Errorf("revoke sign-in links: %w", err)
	}
	if sessions, err = c.Tx.Session.Update().Where(append(sessionConditions,
		ActiveSession(c.DB))...).SetEndedAt(now).Save(c); err != nil {
		return 0, 0, fmt.Errorf("end sessions: %w", err)
	}
	return sessions, links, nil
}
