package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/predicate"
	"go.storefront.example/gen/ent/session"
	"go.storefront.example/gen/ent/signinlink"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/service"
)

// The roles of members who may sign in to a store's dashboard (specification, Authentication).
const (
	RoleOwner = "owner"
	RoleAdmin = "admin"
)

// Roles lists the roles of members who may sign in.
func Roles() []string { return []string{RoleOwner, RoleAdmin} }

const (
	// DefaultSignInExpiry is how long a sign-in link can be used when nothing else is asked for.
	DefaultSignInExpiry = 10 * time.Minute
	// MaxSignInExpiry bounds how long a sign-in link can be used: it travels in chats and mails.
	MaxSignInExpiry = 24 * time.Hour
	// SessionLength is how long a member stays signed in, whatever is done meanwhile.
	SessionLength = 12 * time.Hour
)

// signInPath is where on the operator's listener a sign-in link leads; the secret follows.
const signInPath = "/dashboard/sign-in?token="

// usedEvery is how exactly the last use of a session is kept.
const usedEvery = time.Minute

// secretBytes is the randomness of a sign-in link and of a session: nobody guesses 256 bits.
const secretBytes = 32

// SignInLinkDraft is a sign-in link to make.
type SignInLinkDraft struct {
	// Member is the member's name, as the activity journal is to show it.
	Member string
	// Role is one of Roles.
	Role string
	// Expires is how long the link can be used, a second to MaxSignInExpiry; 0 means DefaultSignInExpiry.
	Expires time.Duration
	// BaseURL is the address under which the member reaches the operator's listener, as CheckBaseURL
	// accepts it. With https the session's cookie travels over HTTPS only, whatever a request looks
	// like once it has passed a proxy.
	BaseURL string
}

// SignInLink is a link that signs a member in to a store's dashboard, once.
type SignInLink struct {
	// ID is what the link and the session that it begins are listed and revoked by.
	ID uuid.UUID
	// URL holds the link's secret: whoever has it is let in. It is not kept.
	URL       string
	ExpiresAt time.Time
}

// Member is who is signed in, and where.
type Member struct {
	Name string
	// Role is one of Roles.
	Role string
	// StoreName is the store's name for readers.
	StoreName string
	ExpiresAt time.Time
	// Origin is the scheme and host of the sign-in link, such as https://operator.example.com; empty
	// when the link is of a release that did not keep it.
	Origin string
}

// Secure reports whether the session's cookie travels over HTTPS only.
func (m Member) Secure() bool { return !strings.HasPrefix(m.Origin, "http://") }

// CheckBaseURL returns the origin of an address that sign-in links can be made under: https, or http on
// a loopback address, without query and fragment. A session's cookie never travels in the clear beyond
// this machine.
func CheckBaseURL(address string) (origin string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("must be an address such as https://operator.example.com, not %q", address)
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return "", fmt.Errorf("must be an https address: over http nobody can sign in beyond this machine, not %q", address)
	}
	// As a browser spells it (RFC 6454, section 6.2).
	port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), port), nil
}

func loopback(host string) bool {
	host = strings.ToLower(host)
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

var (
	// ErrSignInLink says that no link has this secret, or that it was used or has expired.
	ErrSignInLink = errors.New("no such sign-in link, or no longer")
	// ErrNoSession says that no session has this secret, or that it has ended.
	ErrNoSession = errors.New("no such session, or no longer")
)

// CreateSignInLink makes a link that signs a member in to a store. It can be used once, until it
// expires. It refuses with store_not_found or validation_failed.
func (o *Operator) CreateSignInLink(ctx context.Context, storeName string, d SignInLinkDraft) (SignInLink, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return SignInLink{}, err
	}
	member, err := service.MemberName("member", d.Member)
	if err != nil {
		return SignInLink{}, err
	}
	expires := d.Expires
	if expires == 0 {
		expires = DefaultSignInExpiry
	}
	origin, badURL := CheckBaseURL(d.BaseURL)
	switch {
	case !slices.Contains(Roles(), d.Role):
		return SignInLink{}, invalid("role", "must be "+strings.Join(Roles(), " or "))
	case expires < time.Second || expires > MaxSignInExpiry:
		return SignInLink{}, invalid("expires", fmt.Sprintf("must be from 1s to %.0fh", MaxSignInExpiry.Hours()))
	case badURL != nil:
		return SignInLink{}, invalid("baseUrl", badURL.Error())
	}
	owner, _, _ := tenant.From(ctx)
	secret, fingerprint := newSecret()
	link := SignInLink{URL: strings.TrimRight(d.BaseURL, "/") + signInPath + secret}
	err = o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		now := hook.Time(ctx)
		link.ID, link.ExpiresAt = id.At(now), now.Add(expires)
		// What has expired is of no use to anybody, and links are made often enough to clear it away.
		if _, err := tx.SignInLink.Delete().Where(signinlink.ExpiresAtLT(now)).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.Session.Delete().Where(session.ExpiresAtLT(now)).Exec(ctx); err != nil {
			return err
		}
		return tx.SignInLink.Create().SetID(link.ID).SetStoreID(owner.ID).SetFingerprint(fingerprint).SetMember(member).SetRole(d.Role).
			SetOrigin(origin).SetExpiresAt(link.ExpiresAt).SetCreatedAt(now).Exec(ctx)
	})
	if err != nil {
		return SignInLink{}, fmt.Errorf("create a sign-in link: %w", err)
	}
	return link, nil
}

// LookAtSignInLink returns whom a link would sign in, and leaves it unused. It returns ErrSignInLink.
func (o *Operator) LookAtSignInLink(ctx context.Context, secret string) (Member, error) {
	row, err := o.store.Client().SignInLink.Query().
		Where(signinlink.Fingerprint(fingerprintOf(secret)), usable(o.store.Now())).Only(ctx)
	if ent.IsNotFound(err) {
		return Member{}, ErrSignInLink
	}
	if err != nil {
		return Member{}, fmt.Errorf("read a sign-in link: %w", err)
	}
	in, err := o.store.Client().Store.Get(ctx, row.StoreID)
	if err != nil {
		return Member{}, fmt.Errorf("read the store of a sign-in link: %w", err)
	}
	return Member{Name: row.Member, Role: row.Role, StoreName: in.Name, ExpiresAt: row.ExpiresAt, Origin: row.Origin}, nil
}

// SignIn uses a link up and begins a session, whose secret it returns; only its fingerprint is
// kept. The session has the link's id. Of two at once with the same link one is let in. The sessions
// with the secrets of instead end: they are those that the browser gives up. It returns ErrSignInLink.
func (o *Operator) SignIn(ctx context.Context, linkSecret string, instead ...string) (secret string, err error) {
	secret, fingerprint := newSecret()
	err = o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		now := hook.Time(ctx)
		link := fingerprintOf(linkSecret)
		used, err := tx.SignInLink.Update().Where(signinlink.Fingerprint(link), usable(now)).SetUsedAt(now).Save(ctx)
		if err != nil {
			return fmt.Errorf("use a sign-in link: %w", err)
		}
		if used != 1 {
			return ErrSignInLink
		}
		row, err := tx.SignInLink.Query().Where(signinlink.Fingerprint(link)).Only(ctx)
		if err != nil {
			return fmt.Errorf("read a sign-in link: %w", err)
		}
		for _, other := range instead {
			if err := endSession(ctx, tx, other); err != nil {
				return err
			}
		}
		err = tx.Session.Create().SetID(row.ID).SetStoreID(row.StoreID).SetFingerprint(fingerprint).SetMember(row.Member).SetRole(row.Role).
			SetOrigin(row.Origin).SetExpiresAt(now.Add(SessionLength)).SetCreatedAt(now).Exec(ctx)
		if err != nil {
			return fmt.Errorf("begin a session: %w", err)
		}
		return nil
	})
	return secret, err
}

// InSession returns a context in which the shop works on the store that the session's member is
// signed in to, under the member's name. secure is whether the secret came in a cookie that travels
// over HTTPS only: a session is found by its own kind of cookie alone. It returns ErrNoSession.
func (o *Operator) InSession(ctx context.Context, secret string, secure bool) (context.Context, Member, error) {
	now := o.store.Now()
	row, err := o.store.Client().Session.Query().Where(session.Fingerprint(fingerprintOf(secret)), lasting(now)).Only(ctx)
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
	if row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= usedEvery {
		err := o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
			return tx.Session.Update().Where(session.ID(row.ID)).SetLastUsedAt(hook.Time(ctx)).Exec(ctx)
		})
		if err != nil {
			return nil, Member{}, fmt.Errorf("note the use of a session: %w", err)
		}
	}
	in, err := o.store.Client().Store.Get(ctx, row.StoreID)
	if err != nil {
		return nil, Member{}, fmt.Errorf("read the store of a session: %w", err)
	}
	member.StoreName = in.Name
	return tenant.With(ctx, service.TenantOf(in), tenant.Actor{Type: tenant.ActorMember, Name: row.Member}), member, nil
}

// SignOut ends a session for good; ending one that has ended changes nothing.
func (o *Operator) SignOut(ctx context.Context, secret string) error {
	return o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error { return endSession(ctx, tx, secret) })
}

func endSession(ctx context.Context, tx *ent.Tx, secret string) error {
	err := tx.Session.Update().Where(session.Fingerprint(fingerprintOf(secret)), session.EndedAtIsNil()).SetEndedAt(hook.Time(ctx)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// usable are the links that sign somebody in.
func usable(now time.Time) predicate.SignInLink {
	return signinlink.And(signinlink.UsedAtIsNil(), signinlink.RevokedAtIsNil(), signinlink.ExpiresAtGT(now), signinlink.RoleIn(Roles()...))
}

// lasting are the sessions that let somebody in.
func lasting(now time.Time) predicate.Session {
	return session.And(session.EndedAtIsNil(), session.ExpiresAtGT(now), session.RoleIn(Roles()...))
}

func newSecret() (secret string, fingerprint []byte) {
	var random [secretBytes]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	secret = base64.RawURLEncoding.EncodeToString(random[:])
	return secret, fingerprintOf(secret)
}

// fingerprintOf is what is kept of a secret and what it is looked up by.
func fingerprintOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func invalid(field, message string) error {
	return apierr.Invalid("The request has fields that cannot be used; details.fields lists them.", wire.Field{Name: field, Message: message})
}
