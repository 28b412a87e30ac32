package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/gen/openapi"
)

// written returns the document that is stored in gen.
func written(t *testing.T) *document {
	t.Helper()
	doc := &document{}
	require.NoError(t, decode([]byte(openapi.Document), doc))
	return doc
}

func TestOrderAndTextSurviveReadingAndWriting(t *testing.T) {
	t.Parallel()
	const text = `{"zebra":{"description":"a <b> & c","type":"string"},"ant":{"type":["string","null"]}}`
	var o ordered[*schema]
	require.NoError(t, decode([]byte(text), &o))
	require.Equal(t, []string{"zebra", "ant"}, o.names)
	again, err := encode(o)
	require.NoError(t, err)
	require.Equal(t, text, string(again))

	o.set("zebra", &schema{})
	require.Equal(t, []string{"zebra", "ant"}, o.names, "a known name keeps its place")
}

func TestWhatTheDocumentHasNoPlaceForIsAnError(t *testing.T) {
	t.Parallel()
	var o ordered[*schema]
	require.ErrorContains(t, decode([]byte(`{"a":{"xml":{}}}`), &o), `unknown field "xml"`,
		"no output of the plugin may be lost unnoticed")
}

// TestRequestsAreClosedAndTheRestIsOpen checks that a client that validates answers and events by this document accepts
// fields and words that a later release adds. No linter checks this.
func TestRequestsAreClosedAndTheRestIsOpen(t *testing.T) {
	t.Parallel()
	require.NotContains(t, openapi.Document, "_UNSPECIFIED")
	require.NotContains(t, openapi.Document, "google.protobuf")
	require.NotContains(t, openapi.Document, "updateMask")
	doc := written(t)
	// Only two kinds of schema list all words that they allow: an enum in a request, and the type of an event, which is always
	// the same word. All other schemas allow words of later releases.
	closed := map[string]bool{"ProductStatus": true, "ProductType": true, "OrderStatus": true, "PaymentLinkPricing": true,
		"ListPaymentLinksRequestStatus": true}
	for _, e := range events {
		name := pascal(e.name) + "Event"
		require.Equal(t, []any{e.name}, doc.Components.Schemas.get(name).Properties.get("type").Enum)
		doc.Components.Schemas.get(name).Properties.get("type").Enum = nil
	}
	for name, s := range doc.Components.Schemas.all() {
		eachSchema(s, func(s *schema) {
			if len(s.Type) > 1 {
				require.Len(t, s.Type, 2, "%s has a choice of types", name)
				require.Equal(t, "null", s.Type[1], "%s has a choice of types", name)
			}
			if request := strings.HasSuffix(name, "Request"); request {
				require.Equal(t, false, s.AdditionalProperties == nil && len(s.Type) == 1 && s.Type[0] == "object",
					"%s takes names that it does not have", name)
				require.Empty(t, s.Words, "%s takes words that it does not have", name)
			} else if !closed[name] {
				require.NotEqual(t, false, s.AdditionalProperties, "%s refuses new fields", name)
				require.Empty(t, s.Enum, "%s refuses new words", name)
			}
			for _, required := range s.Required {
				require.True(t, s.Properties.has(required), "%s requires what it does not have", name)
			}
		})
	}
}

// eachSchema calls visit with a schema and with all schemas inside it.
func eachSchema(s *schema, visit func(*schema)) {
	if s == nil {
		return
	}
	visit(s)
	eachSchema(s.Items, visit)
	for _, inner := range s.Properties.all() {
		eachSchema(inner, visit)
	}
	for _, inner := range s.OneOf {
		eachSchema(inner, visit)
	}
}

// TestAnswersHaveEveryField checks that, according to the document, an answer always has all fields: a missing value is
// null, not left out.
func TestAnswersHaveEveryField(t *testing.T) {
	t.Parallel()
	doc := written(t)
	for _, name := range []string{"Store", "Product", "Order", "OrderItem", "OrderCustomer", "OrderPaymentLink", "Customer",
		"PaymentLink", "OrderPage", "OrderPaidEvent"} {
		s := doc.Components.Schemas.get(name)
		require.NotNil(t, s, name)
		require.ElementsMatch(t, s.Properties.names, s.Required, name)
	}
}

func TestTheOrderOfAnObjectIsThatOfItsProto(t *testing.T) {
	t.Parallel()
	doc := written(t)
	require.Equal(t, []string{"id", "name", "email", "phone", "ordersCount", "totalPaid", "currency", "createdAt"},
		doc.Components.Schemas.get("Customer").Properties.names)
	require.Equal(t, "/v1/store", doc.Paths.names[0], "the first tag's")
	require.True(t, json.Valid([]byte(openapi.Document)))
}
