package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/gen/ent/customer"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/conformance/openapi"
	"go.storefront.example/server/shop"
)

// furnish creates a resource of each kind. The returned function replaces {id} in a path.
func (b *bench) furnish() func(path string) string {
	b.Helper()
	product, order := b.stocked()
	link := b.donation()
	buyer, err := b.installation.db.Client().Customer.Query().Where(customer.StoreID(b.store.ID)).OnlyID(b.ctx)
	require.NoError(b, err)
	return func(path string) string {
		for prefix, id := range map[string]string{"/v1/products/": product, "/v1/orders/": order, "/v1/customers/": buyer.String(),
			"/v1/payment-links/": link} {
			if strings.HasPrefix(path, prefix) {
				return strings.Replace(path, "{id}", id, 1)
			}
		}
		return path
	}
}

func (b *bench) ask(x openapi.Exchange) (answer, error) {
	b.Helper()
	r, err := http.NewRequestWithContext(context.Background(), x.Method, b.url+x.URL.RequestURI(), bytes.NewReader(x.RequestBody))
	require.NoError(b, err)
	r.Header = x.RequestHeader
	b.authorize(r.Header)
	response, err := b.plain.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	return answer{status: response.StatusCode, header: response.Header, body: decodedObject(b, text)}, nil
}

// Around every bound, the service must refuse what the document refuses, and must not call invalid what it allows.
func TestDocumentProbes(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			if database != dbtest.SQLite {
				need.Heavy(t, "the document's bounds hardly depend on the database")
			}
			s := newService(t, database, settings{step: time.Millisecond})
			b := s.newBench(t, restProtocol{})
			at := b.furnish()
			sent, refused := 0, 0
			differences := map[string][]string{}
			for _, op := range document().Operations() {
				for _, probe := range op.Probes() {
					if sent++; sent%100 == 0 {
						s.gate.advance(time.Minute)
					}
					probe.URL.Path = at(op.Path)
					differ := func(problem string, rule any) {
						difference := fmt.Sprintf("%s, field %q: %s: %v", op.ID, probe.Field, problem, rule)
						differences[difference] = append(differences[difference], probe.URL.RawQuery+short(probe.RequestBody))
					}
					a, err := b.ask(probe.Exchange)
					forbidden := op.Allows(probe.Exchange)
					switch {
					case err != nil && forbidden != nil && a.status == 0:
						differ("the service serves what the document refuses", ruleOf(forbidden))
					case err != nil:
						differ("the answer differs from the document", err)
					case a.status >= 500:
						differ("the service fails", a.body["code"])
					case forbidden != nil: // if the service had served the request, b.ask would have returned an error
						require.GreaterOrEqual(b, a.status, 400)
						refused++
					case probe.Plain && slices.Contains(refusedNames(a), probe.Field):
						differ("the service refuses what the document allows", a.body["details"])
					}
				}
			}
			for _, difference := range slices.Sorted(maps.Keys(differences)) {
				requests := differences[difference]
				t.Errorf("%s (%d requests, such as %s)", difference, len(requests), requests[0])
			}
			t.Logf("%d requests derived from the document, %d of them refused by it", sent, refused)
		})
	}
}

func TestDocumentExamples(t *testing.T) {
	t.Parallel()
	for _, op := range document().Operations() {
		for _, x := range op.Examples() {
			t.Run(op.ID, func(t *testing.T) {
				t.Parallel()
				b := newService(t, dbtest.SQLite, settings{}).newBench(t, restProtocol{})
				x.URL.Path = b.furnish()(op.Path)
				a, err := b.ask(x)
				require.NoError(t, err)
				require.Less(t, a.status, 300, "%s: %v", x.RequestBody, a.body)
			})
		}
	}
}

// The answer is the same as without the parameter.
func TestDocumentDefaults(t *testing.T) {
	t.Parallel()
	b := newService(t, dbtest.SQLite, settings{}).newBench(t, restProtocol{})
	b.furnish()
	for i := range 30 {
		b.customer(fmt.Sprint("Buyer ", i), fmt.Sprintf("buyer-%d@example.com", i))
	}
	count := 0
	for _, op := range document().Operations() {
		for _, query := range op.Defaults() {
			require.Equal(t, string(b.get(op.Path)), string(b.get(op.Path+"?"+query)), "%s?%s", op.ID, query)
			count++
		}
	}
	require.NotZero(t, count)
}

// quoted matches a value in the text of a validator's error.
var quoted = regexp.MustCompile(`'(?:[^'\\]|\\.)*' (does not match|is not)`)

// ruleOf returns the broken rule without the value, to count errors of one rule.
func ruleOf(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return quoted.ReplaceAllString(lines[len(lines)-1], "it $1")
}

// refusedNames are the refused fields; "" stands for the whole request.
func refusedNames(a answer) []string {
	if a.status != http.StatusBadRequest || a.body["code"] != "validation_failed" {
		return nil
	}
	names := []string{""}
	details, _ := a.body["details"].(map[string]any)
	list, _ := details["fields"].([]any)
	for _, entry := range list {
		names = append(names, entry.(map[string]any)["field"].(string))
	}
	return names
}

func short(text []byte) string {
	if len(text) > 300 {
		return string(text[:300]) + "…"
	}
	return string(text)
}

var _ = cases(scenario{
	name:      "what the platform records with nothing in it, or at its bounds, is answered as documented",
	protocols: underV1(),
	run: func(b *bench) {
		b.change(&adminv1.UpdateStoreRequest{
			Description: new(""), SupportEmail: new(""), Phone: new(""), WhatsappPhone: new(""),
			UpdateMask: mask("description", "support_email", "phone", "whatsapp_phone", "social_links"),
		})
		b.requireFields(b.call(&getStore{}), object{"supportEmail": "", "phone": "", "whatsappPhone": "", "description": ""})
		for _, price := range []int64{0, 1<<53 - 1} {
			id := b.product("Guide", price, unready,
				func(d *adminv1.CreateProductRequest) { d.CoverUrl = new("https://cdn.example/café.png") })
			b.requireFields(b.call(&getProduct{Id: id}), object{"priceAmount": price, "coverUrl": "https://cdn.example/café.png"})
			b.call(&getOrder{Id: b.order(id, 1, "ada@example.com")})
		}
	},
}, scenario{
	name:      "null stands wherever a request or an answer may have it",
	protocols: underV1(),
	run: func(b *bench) {
		o, err := b.RecordOrder(b.ctx, shop.OrderDraft{
			Buyer: shop.Buyer{Phone: new("+237670000004")}, Lines: []shop.OrderLine{{ProductID: b.product("Guide", 1500), Quantity: 1}},
		})
		require.NoError(b, err)
		b.requireFields(b.call(&getOrder{Id: o.GetId()})["customer"].(map[string]any), object{"email": nil, "phone": "+237670000004"})
		a := b.json("POST", "/v1/payment-links", `{"title":"Don","pricing":"FIXED","amount":5,"minAmount":null}`)
		require.Equal(b, http.StatusCreated, a.status, "%v", a.body)
		a = b.json("PATCH", "/v1/payment-links/"+a.body["id"].(string), `{"pricing":"OPEN","minAmount":5,"amount":null}`)
		b.requireFields(a.body, object{"pricing": "OPEN", "amount": nil, "minAmount": 5})
	},
})
