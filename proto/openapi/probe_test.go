package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/service"
)

func TestTheEdgeIsTheLastValueThatIsTaken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		from, limit, want int64
		because           string
	}{
		{1, math.MaxInt64, 100, "upwards, to the end of the range"},
		{1, math.MinInt64, -7, "downwards, over zero"},
		{1, 101, 100, "the limit is the first that is refused"},
		{1, 50, 50, "the limit is taken"},
		{100, 200, 100, "nothing more is taken"},
	} {
		got := edge(row.from, row.limit, func(n int64) bool { return -7 <= n && n <= 100 })
		require.Equal(t, row.want, got, row.because)
	}
}

func TestBoundsAreThoseOfTheRules(t *testing.T) {
	t.Parallel()
	product := fields{"title": "Don", "priceAmount": 100}
	link := fields{"title": "Don", "pricing": "OPEN", "minAmount": 100}
	for _, row := range []struct {
		request proto.Message
		sample  fields
		name    string
		want    bounds
		because string
	}{
		{&storefrontv1.UpdateProductRequest{}, product, "title", bounds{minLength: new(1), maxLength: new(service.MaxTitleRunes), pattern: nonBlankPattern}, "a title is never empty"},
		{&storefrontv1.UpdateProductRequest{}, product, "summary", bounds{maxLength: new(service.MaxSummaryRunes), pattern: linesPattern}, "a summary may be"},
		{&storefrontv1.UpdateProductRequest{}, product, "compareAtAmount", bounds{nullable: true, minimum: new(int64(0)), maximum: new(int64(service.MaxAmount))}, "null removes it"},
		{&storefrontv1.UpdateProductRequest{}, product, "status", bounds{}, "a word has no bounds"},
		{&storefrontv1.CreatePaymentLinkRequest{}, link, "pricing", bounds{required: true}, "a link cannot do without"},
		{&storefrontv1.CreatePaymentLinkRequest{}, link, "expiresAt", bounds{nullable: true}, "refused with a code of its own, were it not to be null"},
		{&storefrontv1.CreatePaymentLinkRequest{}, link, "maxPayments", bounds{nullable: true, minimum: new(int64(1)), maximum: new(int64(math.MaxInt32))}, "32 bits"},
		{&storefrontv1.CreateCustomerRequest{}, fields{"phone": "+237670000003"}, "email", bounds{nullable: true, minLength: new(1), maxLength: new(service.MaxEmailRunes), pattern: nonBlankPattern}, "grown at its front"},
		{&storefrontv1.CreateCustomerRequest{}, fields{"email": "ada@example.com"}, "phone", bounds{nullable: true, minLength: new(1), maxLength: new(250), pattern: nonBlankPattern},
			"refused with a code of its own, and read by libphonenumber up to its MAX_INPUT_STRING_LENGTH"},
		{&storefrontv1.ListOrdersRequest{}, fields{}, "page", bounds{nullable: true, minimum: new(int64(1))}, "64 bits are no bound"},
	} {
		fd := row.request.ProtoReflect().Descriptor().Fields().ByJSONName(row.name)
		got, err := probe(fd, row.sample)
		require.NoError(t, err)
		require.Equal(t, row.want, got, "%s.%s: %s", fd.ContainingMessage().Name(), row.name, row.because)
	}
}
