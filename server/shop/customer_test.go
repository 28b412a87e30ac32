package shop_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/shop/shoptest"
)

func TestCreateCustomerKnowsOneBuyerByEitherIdentifier(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		post := func(name, email, phone string) (*storefrontv1.Customer, bool, error) {
			in := &storefrontv1.CreateCustomerRequest{Name: name}
			if email != "" {
				in.Email = &email
			}
			if phone != "" {
				in.Phone = &phone
			}
			return b.CreateCustomer(b.Ctx, in)
		}
		first, created, err := post("", " Ada@Example.COM ", "")
		require.NoError(t, err)
		require.True(t, created)
		require.Equal(t, "ada@example.com", first.GetEmail())
		require.Nil(t, first.Phone)

		again, created, err := post("Ada Lovelace", "ADA@example.com", "6 70 00 00 01")
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, first.GetId(), again.GetId())
		require.Equal(t, "Ada Lovelace", again.GetName(), "an empty name is completed")
		require.Equal(t, "+237670000001", again.GetPhone(), "a missing phone is completed, as one of the store's country")

		kept, created, err := post("Someone Else", "other@example.com", "+237670000001")
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, "Ada Lovelace", kept.GetName(), "the record keeps what it has")
		require.Equal(t, "ada@example.com", kept.GetEmail())

		_, created, err = post("Bob", "bob@example.com", "")
		require.NoError(t, err)
		require.True(t, created)
		entries := len(b.Journal())
		_, _, err = post("Mallory", "bob@example.com", "+237670000001")
		shoptest.Refused(t, err, apierr.CustomerConflict)
		require.Equal(t, []string{"customer.created", "customer.created"}, b.Events(), "nothing is sent for a customer already known")
		require.Len(t, b.Journal(), entries, "a refused request leaves no entry")
		_, _, err = post("", "bob@example.com", "")
		require.NoError(t, err)
		require.Len(t, b.Journal(), entries, "a request that completes nothing leaves no entry")
	})
}

func TestCustomerBoundsAndRefusals(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		rows := []struct {
			reason string
			in     *storefrontv1.CreateCustomerRequest
			want   apierr.Code
			fields []string
		}{
			{"neither e-mail nor phone", &storefrontv1.CreateCustomerRequest{Name: "A"}, apierr.CustomerIdentifierRequired, nil},
			{"a blank e-mail is no e-mail", &storefrontv1.CreateCustomerRequest{Email: ptr(" ")}, apierr.ValidationFailed,
				[]string{"email"}},
			{"an e-mail with a display name", &storefrontv1.CreateCustomerRequest{Email: ptr("A <a@example.com>")},
				apierr.ValidationFailed, []string{"email"}},
			{"a domain without a dot", &storefrontv1.CreateCustomerRequest{Email: ptr("a@localhost")}, apierr.ValidationFailed,
				[]string{"email"}},
			{"a domain that is an address", &storefrontv1.CreateCustomerRequest{Email: ptr("a@[1.2.3.4]")}, apierr.ValidationFailed,
				[]string{"email"}},
			{"a control character", &storefrontv1.CreateCustomerRequest{Email: ptr("a@example.com"), Name: "A\x00"},
				apierr.ValidationFailed, []string{"name"}},
			{"a blank phone", &storefrontv1.CreateCustomerRequest{Phone: ptr("")}, apierr.PhoneInvalid, nil},
			{"a number too short for anywhere", &storefrontv1.CreateCustomerRequest{Phone: ptr("+2371")}, apierr.PhoneInvalid, nil},
			{"letters", &storefrontv1.CreateCustomerRequest{Phone: ptr("call me")}, apierr.PhoneInvalid, nil},
			{"everything wrong is named at once", &storefrontv1.CreateCustomerRequest{Email: ptr("x"), Phone: ptr("y"), Name: "\x01"},
				apierr.ValidationFailed, []string{"name", "email", "phone"}},
		}
		for _, row := range rows {
			_, _, err := b.CreateCustomer(b.Ctx, row.in)
			t.Log(row.reason)
			r := shoptest.Refused(t, err, row.want)
			var names []string
			for _, f := range r.Details.GetFields() {
				names = append(names, f.GetField())
			}
			require.Equal(t, row.fields, names)
		}
		require.Empty(t, b.Events())
	})
}

func TestUpdateCustomer(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		c, _, err := b.CreateCustomer(b.Ctx, &storefrontv1.CreateCustomerRequest{Name: "Ada", Email: ptr("ada@example.com"),
			Phone: ptr("+237670000001")})
		require.NoError(t, err)
		_, _, err = b.CreateCustomer(b.Ctx, &storefrontv1.CreateCustomerRequest{Name: "Bob", Email: ptr("bob@example.com")})
		require.NoError(t, err)
		patch := func(in *storefrontv1.UpdateCustomerRequest, mask ...string) (*storefrontv1.Customer, error) {
			in.Id = c.GetId()
			if mask != nil {
				in.UpdateMask = &fieldmaskpb.FieldMask{Paths: mask}
			}
			return b.UpdateCustomer(b.Ctx, in)
		}
		entries := len(b.Journal())

		got, err := patch(&storefrontv1.UpdateCustomerRequest{}, "phone")
		require.NoError(t, err)
		require.Nil(t, got.Phone, "a named field without a value is cleared")
		_, err = patch(&storefrontv1.UpdateCustomerRequest{}, "email")
		shoptest.Refused(t, err, apierr.CustomerIdentifierRequired)
		_, err = patch(&storefrontv1.UpdateCustomerRequest{}, "email", "phone")
		shoptest.Refused(t, err, apierr.CustomerIdentifierRequired)
		_, err = patch(&storefrontv1.UpdateCustomerRequest{Email: ptr("BOB@example.com")})
		shoptest.Refused(t, err, apierr.CustomerConflict)
		_, err = patch(&storefrontv1.UpdateCustomerRequest{}, "name")
		require.Equal(t, "name", shoptest.Refused(t, err, apierr.ValidationFailed).Details.GetFields()[0].GetField())
		_, err = patch(&storefrontv1.UpdateCustomerRequest{}, "orders_count")
		require.Equal(t, "updateMask", shoptest.Refused(t, err, apierr.ValidationFailed).Details.GetFields()[0].GetField())
		_, err = b.UpdateCustomer(b.Ctx, &storefrontv1.UpdateCustomerRequest{Id: "nobody"})
		shoptest.Refused(t, err, apierr.CustomerNotFound)

		_, err = patch(&storefrontv1.UpdateCustomerRequest{Name: ptr("Ada"), Email: ptr("Ada@example.com")})
		require.NoError(t, err)
		journal := b.Journal()
		require.Len(t, journal, entries+1, "what changes nothing leaves no entry")
		last := journal[entries]
		require.Equal(t, "customer.updated", last.Action)
		require.Equal(t, "tests", last.ActorName)
		require.JSONEq(t, `{"phone":{"from":"+237670000001","to":null}}`, string(last.Changes))
	})
}

// However many callers send one e-mail at once, one customer is created and one event written.
func TestCreateCustomerIsNeverDoubled(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, s *db.DB) {
		b := newBench(t, s, shop.Options{})
		const callers = 100
		news := make([]bool, callers)
		var group errgroup.Group
		for i := range callers {
			group.Go(func() error {
				var err error
				_, news[i], err = b.CreateCustomer(b.Ctx, &storefrontv1.CreateCustomerRequest{Email: ptr("one@example.com"),
					Phone: ptr("+237670000009")})
				return err
			})
		}
		require.NoError(t, group.Wait())
		created := 0
		for _, n := range news {
			if n {
				created++
			}
		}
		require.Equal(t, 1, created)
		n, err := s.Client().Customer.Query().Count(b.Ctx)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, []string{"customer.created"}, b.Events())
		require.Equal(t, []string{"store.created", "customer.created"}, shoptest.Actions(b.Journal()))
	})
}
