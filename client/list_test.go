package client_test

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/client"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// titles joins the titles of products, up to the end or the first error.
func titles(products iter.Seq2[*storefrontv1.Product, error]) (text string, err error) {
	var all []string
	for product, failed := range products {
		if failed != nil {
			err = failed
			continue
		}
		all = append(all, product.GetTitle())
	}
	return strings.Join(all, " "), err
}

func TestListWalksAllPages(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		filter client.ProductFilter
		want   string
		asked  []int64
	}{
		{"no filter asks for everything", client.ProductFilter{}, "a b c d e", []int64{1}},
		{"the last page is not full", client.ProductFilter{PageSize: 2}, "a b c d e", []int64{1, 2, 3}},
		{"the last page is full: none is asked for beyond it", client.ProductFilter{PageSize: 5}, "a b c d e", []int64{1}},
		{"one item a page", client.ProductFilter{PageSize: 1}, "a b c d e", []int64{1, 2, 3, 4, 5}},
		{"from the page that is named", client.ProductFilter{Page: 2, PageSize: 2}, "c d e", []int64{2, 3}},
		{"a page beyond the last is empty", client.ProductFilter{Page: 9, PageSize: 2}, "", []int64{9}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			service := titled("a", "b", "c", "d", "e")
			products := service.open(t).Products.List(t.Context(), row.filter)
			require.Empty(t, service.asked, "nothing is asked for before the first item is")
			for range 2 {
				got, err := titles(products)
				require.NoError(t, err)
				require.Equal(t, row.want, got, "a sequence starts anew each time")
				require.Equal(t, row.asked, service.asked)
				service.asked = nil
			}
		})
	}
}

func TestListOfNothing(t *testing.T) {
	t.Parallel()
	service := titled()
	got, err := titles(service.open(t).Products.List(t.Context(), client.ProductFilter{}))
	require.NoError(t, err)
	require.Empty(t, got)
	require.Equal(t, []int64{1}, service.asked)
}

func TestListStopsWhereItsCallerDoes(t *testing.T) {
	t.Parallel()
	service := titled("a", "b", "c", "d", "e")
	for product, err := range service.open(t).Products.List(t.Context(), client.ProductFilter{PageSize: 2}) {
		require.NoError(t, err)
		if product.GetTitle() == "b" {
			break
		}
	}
	require.Equal(t, []int64{1}, service.asked, "the next page is not asked for")
}

func TestListEndsWithItsError(t *testing.T) {
	t.Parallel()
	service := titled("a", "b", "c", "d", "e")
	service.before = func(page int64) error {
		if page == 2 {
			return errors.New("out of paper")
		}
		return nil
	}
	failures := 0
	var seen []string
	var last error
	for product, err := range service.open(t, client.WithMaxRetries(0)).Products.List(t.Context(),
		client.ProductFilter{PageSize: 2}) {
		if err != nil {
			require.Nil(t, product)
			failures++
			last = err
			continue
		}
		seen = append(seen, product.GetTitle())
	}
	require.Equal(t, []string{"a", "b"}, seen, "what came before the error counts")
	require.Equal(t, 1, failures)
	var got *client.Error
	require.ErrorAs(t, last, &got)
	require.Equal(t, "ListProducts", got.Operation)
	require.Equal(t, []int64{1, 2}, service.asked)

	_, err := titles(service.open(t).Products.List(t.Context(), client.ProductFilter{Page: -1}))
	require.ErrorAs(t, err, &got)
	require.Equal(t, client.ValidationFailed, got.Code, "a page out of bounds is the service's to refuse")
}

// Older products move towards the end. One comes twice, and none is missed.
func TestListWhileProductsAreAdded(t *testing.T) {
	t.Parallel()
	service := titled("c", "b", "a")
	service.before = func(page int64) error {
		if page == 2 {
			service.products = append(titled("d").products, service.products...)
		}
		return nil
	}
	got, err := titles(service.open(t).Products.List(t.Context(), client.ProductFilter{PageSize: 2}))
	require.NoError(t, err)
	require.Equal(t, "c b b a", got, "none is missed, one comes twice")
}

func TestAnUnknownValueOfAnEnumIsKept(t *testing.T) {
	t.Parallel()
	newer := &storefrontv1.Product{Id: "x", Type: 77, Status: storefrontv1.Product_PUBLISHED}
	service := playing(sends(newer))
	product, err := service.open(t).Products.Get(t.Context(), "x")
	require.NoError(t, err)
	require.EqualValues(t, 77, product.GetType())
	require.Equal(t, "77", product.GetType().String())
	require.True(t, proto.Equal(newer, product))
}
