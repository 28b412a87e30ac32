package main

import (
	"encoding/json"
	"strings"
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

func TestExamplesOfErrorsBelongToTheirOperation(t *testing.T) {
	t.Parallel()
	doc := written(t)
	for path, item := range doc.Paths.all() {
		for verb, op := range item.operations().all() {
			details := func(status, code string) (found struct {
				Message string
				Details struct {
					Required string
					Fields   []struct{ Field, Message string }
				}
			}) {
				e := op.Responses.get(status).Content.get(mediaTypeJSON).Examples.get(code)
				require.NotNil(t, e, "%s %s shows %s", verb, path, code)
				require.NoError(t, json.Unmarshal(e.Value, &found))
				return found
			}
			scope := op.Security[0].get(schemeName)[0]
			refused := details("403", "insufficient_scope")
			require.Equal(t, scope, refused.Details.Required, "%s %s", verb, path)
			require.Contains(t, refused.Message, " "+scope+".")

			known := map[string]bool{}
			for _, p := range op.Parameters {
				known[p.Name] = true
			}
			if op.RequestBody != nil {
				name := op.RequestBody.Content.get(mediaTypeJSON).Schema.Ref
				for property := range doc.Components.Schemas.get(name[strings.LastIndexByte(name, '/')+1:]).Properties.all() {
					known[property] = true
				}
			}
			fields := details("400", "validation_failed").Details.Fields
			require.NotEmpty(t, fields)
			for _, f := range fields {
				unknown := strings.HasPrefix(f.Message, "is not a known field") || strings.HasPrefix(f.Message, "is not a parameter") ||
					strings.Contains(f.Message, "cannot be set")
				require.Equal(t, !unknown, known[f.Field], "%s %s: %s %s", verb, path, f.Field, f.Message)
			}
		}
	}
}
