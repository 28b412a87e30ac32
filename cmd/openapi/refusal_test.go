package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/server/apierr"
)

func TestCodesOfAComment(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text    string
		want    []apierr.Code
		because string
	}{
		{"Lists orders.", nil, "nothing is refused"},
		{"Gets an `order`. Refused with `order_not_found`.", []apierr.Code{apierr.OrderNotFound},
			"only the sentence about refusals counts"},
		{
			"Refused with `phone_invalid` or, when two differ, `customer_conflict`. Sends `customer.created`.",
			[]apierr.Code{apierr.PhoneInvalid, apierr.CustomerConflict}, "conditions may stand between",
		},
	} {
		t.Run(row.because, func(t *testing.T) {
			codes, err := codesOf(row.text)
			require.NoError(t, err)
			require.Equal(t, row.want, codes)
		})
	}
}

func TestACodeThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	_, err := codesOf("Refused with `order_lost`.")
	require.ErrorContains(t, err, "`order_lost`, which is not a code of the public API")
	_, err = codesOf("Refused with `" + string(apierr.WebhookNotFound) + "`.")
	require.Error(t, err, "a code of the operator's side")
}

func TestCodesAreGroupedByStatusInOrder(t *testing.T) {
	t.Parallel()
	groups := byStatus([]apierr.Code{apierr.RateLimited, apierr.PhoneInvalid, apierr.APIKeyMissing, apierr.ValidationFailed})
	require.Equal(t, []string{"400", "401", "429"}, groups.names)
	require.Equal(t, []apierr.Code{apierr.PhoneInvalid, apierr.ValidationFailed}, groups.get("400"))
}
