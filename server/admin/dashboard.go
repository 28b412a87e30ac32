package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/ent/wire"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/session"
	"go.storefront.example/gen/ent/signinlink"
	"go.storefront.example/server/refusal"
	"go.storefront.example/server/shop"
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

// SignInPath is where on the operator's listener a sign-in link leads; the secret follows.
const SignInPath = "/dashboard/sign-in?token="

// secretBytes is the randomness of a sign-in link and of a session: nobody guesses 256 bits.
const secretBytes = 32

// SignInLink is a link that signs a member in to a store's dashboard, once.
type SignInLink struct {
	// Secret is the link's only secret: whoever has it is let in. It is not kept.
	Secret    string
	ExpiresAt time.Time
}

// URL is the link under the address of the operator's listener, such as
// https://operator.example.com, with or without a slash at its end.
func (l SignInLink) URL(base string) string {
	return strings.TrimRight(base, "/") + SignInPath + l.Secret
}

// Member is who is signed in, and where.
type Member struct {
	Name string
	// Role is one of Roles.
	Role string
	// StoreName is the store's name for readers.
	StoreName string
	ExpiresAt time.Time
}

var (
	// ErrSignInLink says that no link has this secret, or that it was used or has expired.
	ErrSignInLink = errors.New("no such sign-in link, or no longer")
	// ErrNoSession says that no session has this secret, or that it has ended.
	ErrNoSession = errors.New("no such session, or no longer")
)

// CreateSignInLink makes a link that signs in a member of a store, by the name that the activity
// journal is to show. It can be used once, until it expires after a time of a second to
// MaxSignInExpiry; 0 means DefaultSignInExpiry. It refuses with store_not_found or
// validation_failed.
func (o *Operator) CreateSignInLink(ctx context.Context, storeName, member, role string, expires time.Duration) (SignInLink, error) {
	ctx, err := o.In(ctx, storeName)
	if err != nil {
		return SignInLink{}, err
	}
	if member, err = shop.MemberName("member", member); err != nil {
		return SignInLink{}, err
	}
	if expires == 0 {
		expires = DefaultSignInExpiry
	}
	switch {
	case !slices.Contains(Roles(), role):
		return SignInLink{}, invalid("role", "must be "+strings.Join(Roles(), " or "))
	case expires < time.Second || expires > MaxSignInExpiry:
		return SignInLink{}, invalid("expires", fmt.Sprintf("must be from 1s to %.0fh", MaxSignInExpiry.Hours()))
	}
	owner, _, _ := tenant.From(ctx)
	secret, fingerprint := newSecret()
	link := SignInLink{Secret: secret}
	err = o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		now := hook.Time(ctx)
		link.ExpiresAt = now.Add(expires)
		// What has expired is of no use to anybody, and links are made often enough to clear it away.
		if _, err := tx.SignInLink.Delete().Where(signinlink.ExpiresAtLT(now)).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.Session.Delete().Where(session.ExpiresAtLT(now)).Exec(ctx); err != nil {
			return err
		}
		return tx.SignInLink.Create().SetStoreID(owner.ID).SetFingerprint(fingerprint).SetMember(member).SetRole(role).
			SetExpiresAt(link.ExpiresAt).SetCreatedAt(now).Exec(ctx)
	})
	if err != nil {
		return SignInLink{}, fmt.Errorf("create a sign-in link: %w", err)
	}
	return link, nil
}

// LookAtSignInLink tells whom a link would sign in, and leaves it unused. It returns ErrSignInLink.
func (o *Operator) LookAtSignInLink(ctx context.Context, secret string) (Member, error) {
	row, err := o.store.Client().SignInLink.Query().
		Where(signinlink.Fingerprint(fingerprintOf(secret)), signinlink.UsedAtIsNil(), signinlink.ExpiresAtGT(o.store.Now()),
			signinlink.RoleIn(Roles()...)).Only(ctx)
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
	return Member{Name: row.Member, Role: row.Role, StoreName: in.Name, ExpiresAt: row.ExpiresAt}, nil
}

// SignIn uses a link up and begins a session, whose secret it returns; only its fingerprint is
// kept. Of two at once with the same link one is let in. It returns ErrSignInLink.
func (o *Operator) SignIn(ctx context.Context, linkSecret string) (secret string, err error) {
	secret, fingerprint := newSecret()
	err = o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		now := hook.Time(ctx)
		link := fingerprintOf(linkSecret)
		used, err := tx.SignInLink.Update().
			Where(signinlink.Fingerprint(link), signinlink.UsedAtIsNil(), signinlink.ExpiresAtGT(now), signinlink.RoleIn(Roles()...)).
			SetUsedAt(now).Save(ctx)
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
		err = tx.Session.Create().SetStoreID(row.StoreID).SetFingerprint(fingerprint).SetMember(row.Member).SetRole(row.Role).
			SetExpiresAt(now.Add(SessionLength)).SetCreatedAt(now).Exec(ctx)
		if err != nil {
			return fmt.Errorf("begin a session: %w", err)
		}
		return nil
	})
	return secret, err
}

// InSession returns a context in which the shop works on the store that the session's member is
// signed in to, under the member's name. It returns ErrNoSession.
func (o *Operator) InSession(ctx context.Context, secret string) (context.Context, Member, error) {
	row, err := o.store.Client().Session.Query().Where(session.Fingerprint(fingerprintOf(secret)), session.EndedAtIsNil(),
		session.ExpiresAtGT(o.store.Now()), session.RoleIn(Roles()...)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, Member{}, ErrNoSession
	}
	if err != nil {
		return nil, Member{}, fmt.Errorf("read a session: %w", err)
	}
	in, err := o.store.Client().Store.Get(ctx, row.StoreID)
	if err != nil {
		return nil, Member{}, fmt.Errorf("read the store of a session: %w", err)
	}
	ctx = tenant.With(ctx, shop.TenantOf(in), tenant.Actor{Type: tenant.ActorMember, Name: row.Member})
	return ctx, Member{Name: row.Member, Role: row.Role, StoreName: in.Name, ExpiresAt: row.ExpiresAt}, nil
}

// SignOut ends a session for good; ending one that has ended changes nothing.
func (o *Operator) SignOut(ctx context.Context, secret string) error {
	err := o.store.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		return tx.Session.Update().Where(session.Fingerprint(fingerprintOf(secret)), session.EndedAtIsNil()).
			SetEndedAt(hook.Time(ctx)).Exec(ctx)
	})
	if err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
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
	return refusal.Invalid("The request has fields that cannot be used; details.fields lists them.", wire.Field{Name: field, Message: message})
}
