package shop

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

func storeNotFound(name string) error {
	return apierr.New(apierr.StoreNotFound, "There is no store "+name+".")
}

// TenantOf converts a store's row to the tenant.Store of a context.
func TenantOf(row *ent.Store) tenant.Store {
	return tenant.Store{
		ID: row.ID, Slug: row.Slug, Currency: row.Currency, Country: row.Country,
		Status: row.Status.String(), BeingDeleted: row.DeletionBeganAt != nil,
		PaymentLinksOpen: row.PaymentLinksOpen, UnavailableTypes: row.UnavailableTypes, PlatformFeePercent: row.PlatformFeePercent,
	}
}

// FindStore returns the store with this slug or id.
func (s *Shop) FindStore(ctx context.Context, name string) (tenant.Store, error) {
	if !validate.Storable(name) {
		return tenant.Store{}, storeNotFound(name)
	}
	condition := store.Slug(name)
	if id, ok := validate.ParseID(name); ok {
		condition = store.Or(store.ID(id), store.Slug(id.String()))
	}
	row, err := s.db.Client().Store.Query().Where(condition).Only(ctx)
	if ent.IsNotSingular(err) {
		return tenant.Store{}, apierr.New(apierr.StoreNotFound, "The name "+name+" is the slug of one store and the id of another.")
	}
	if err := apierr.RowError("store", err, func() error { return storeNotFound(name) }); err != nil {
		return tenant.Store{}, err
	}
	return TenantOf(row), nil
}

// maxNetworkRunes is how many characters the name of a social network may have.
const maxNetworkRunes = 100

func (p *problems) storeFields(in proto.Message, country string) Named[ent.Store] {
	named := NamedOf(&p.Problems, resource.StoreFields, country, in)
	for _, network := range slices.Sorted(maps.Keys(named.Values.SocialLinks)) {
		address := named.Values.SocialLinks[network]
		if !utf8.ValidString(network) || strings.ContainsFunc(network, unicode.IsControl) || invisible.HasLineEnd(network) ||
			utf8.RuneCountInString(network) > maxNetworkRunes {
			p.Invalid("socialLinks",
				fmt.Sprintf("must have names that are UTF-8 text of at most %d characters without control characters",
					maxNetworkRunes))
			continue
		}
		if p.URL("socialLinks."+network, &address) == nil || network == "" {
			p.Invalid("socialLinks."+network, "must be a network's name and an http or https address")
		}
	}
	return named
}

// StoreURL returns the address of a store that sets none.
func StoreURL(public, slug string) string { return strings.TrimSuffix(public, "/") + "/" + slug }

// CreateStore creates a store with a new id, in the bucket that the request names or else in one of Options.Buckets. actor
// makes the change. If the request has no URL, the store's address is Options.PublicURL with the slug appended.
func (s *Shop) CreateStore(ctx context.Context, actor tenant.Actor, in *adminv1.CreateStoreRequest) (*storefrontv1.Store, error) {
	return s.createStore(ctx, actor, uuid.Nil, nil, in)
}

// newStoreID draws ids until one is in the named bucket or, without a name, in one of Options.Buckets. One id in 3,844 is in a
// given bucket, so this takes some milliseconds at most.
func (s *Shop) newStoreID(p *problems, bucket *string) uuid.UUID {
	buckets := s.options.Buckets
	switch {
	case bucket == nil:
	case !tenant.IsBucket(*bucket):
		p.Invalid("bucket", fmt.Sprintf("must be two letters or digits, such as 7Q, not %q", *bucket))
		return uuid.Nil
	case !buckets.Has(*bucket):
		p.Invalid("bucket", fmt.Sprintf("must be one of this installation's buckets, %s, not %s", buckets, *bucket))
		return uuid.Nil
	default:
		buckets = tenant.Buckets(*bucket)
	}
	for {
		if id := uuid.Must(uuid.NewV7()); buckets.Has(tenant.Bucket(id)) {
			return id
		}
	}
}

// RestoreStore creates an exported store again, with its id and its time of creation. It accepts a currency or a country that
// was withdrawn from the standard since.
func (s *Shop) RestoreStore(ctx context.Context, actor tenant.Actor, id uuid.UUID, createdAt time.Time,
	in *adminv1.CreateStoreRequest) (
	*storefrontv1.Store, error) {
	return s.createStore(ctx, actor, id, &createdAt, in)
}

// exportedCodes matches the form of a currency and a country, which is all that RestoreStore checks.
var exportedCodes = regexp.MustCompile(`^[A-Z]{3} [A-Z]{2}$`)

func (s *Shop) createStore(ctx context.Context, actor tenant.Actor, id uuid.UUID, createdAt *time.Time,
	in *adminv1.CreateStoreRequest) (
	*storefrontv1.Store, error) {
	p := newProblems(ctx)
	if createdAt == nil {
		id = s.newStoreID(p, in.Bucket)
	}
	money, country := in.GetCurrency(), in.GetCountry()
	if createdAt == nil || !exportedCodes.MatchString(money+" "+country) {
		money, country = p.Currency("currency", money), p.Country("country", country)
	}
	named, slug := p.storeFields(in, country), in.GetSlug()
	if err := p.Err(); err != nil {
		return nil, err
	}
	next := named.Applied(&ent.Store{
		URL: StoreURL(s.options.PublicURL, slug), Status: store.DefaultStatus, PaymentLinksOpen: store.DefaultPaymentLinksOpen,
		SocialLinks: store.DefaultSocialLinks, UnavailableTypes: store.DefaultUnavailableTypes,
	})
	ctx = tenant.With(ctx, tenant.Store{ID: id, Slug: slug, Currency: money}, actor)
	return hook.Answer(ctx, s.db, func(c *hook.Change) (*storefrontv1.Store, error) {
		taken, err := c.Tx.Store.Query().Where(store.Slug(slug)).Exist(c)
		if err != nil {
			return nil, fmt.Errorf("look for the slug: %w", err)
		}
		if taken {
			return nil, apierr.New(apierr.SlugTaken, "The slug "+slug+" is taken; choose another.")
		}
		now := c.Time()
		create := c.Tx.Store.Create().SetID(id).SetSlug(slug).SetCurrency(money).SetCountry(country).
			SetCreatedAt(*cmp.Or(createdAt, &now)).SetUpdatedAt(now)
		if err := resource.StoreFields.Fill(create.Mutation(), &next); err != nil {
			return nil, fmt.Errorf("create store: %w", err)
		}
		row, err := create.Save(c)
		if err != nil {
			return nil, fmt.Errorf("create store: %w", err)
		}
		return resource.Store(row), nil
	})
}

// UpdateStore changes the named fields of the context's store.
func (s *Shop) UpdateStore(ctx context.Context, in *adminv1.UpdateStoreRequest) (*storefrontv1.Store, error) {
	t, err := tenant.StoreOf(ctx)
	if err != nil {
		return nil, err
	}
	p := newProblems(ctx)
	named := p.storeFields(in, t.Country)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return hook.Answer(ctx, s.db, func(c *hook.Change) (*storefrontv1.Store, error) {
		row, err := LockStore(c)
		if err != nil {
			return nil, err
		}
		next := named.Applied(row)
		if row.DeleteAt != nil && next.Status != store.StatusClosed {
			return nil, apierr.New(apierr.StoreBeingDeleted, "The store is to be deleted: restore it to open it, unless its grace is over.")
		}
		if row, err = Save(c, resource.StoreFields, row, &next, row.Update()); err != nil {
			return nil, err
		}
		return resource.Store(row), nil
	})
}

// LockStore locks the row of the change's store.
func LockStore(c *hook.Change) (*ent.Store, error) {
	row, err := hook.LockRow(c, c.Tx.Store.Query().Where(store.ID(c.Store.ID)))
	return row, apierr.RowError("store", err, func() error { return storeNotFound(c.Store.Slug) })
}
