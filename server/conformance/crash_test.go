package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/auth"
)

// After a restart, every answered customer and price is stored, with one journal entry and event each.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it kills servers under load")
	const (
		writers = 8
		enough  = 150 // the server is killed after this number of answered writes
	)
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			address := dbtest.URL(t, database)
			b := openBench(t, address)
			product := b.product("Guide", 1000)
			keys := make([]string, writers)
			for i := range keys {
				keys[i], _ = b.newKey(fmt.Sprint("writer ", i), "never", auth.Scopes()...)
			}
			before := len(b.entries())

			p := startServer(t, address)
			b.url = p.url
			var answered atomic.Int32
			var mu sync.Mutex
			customers, prices := map[string]bool{}, map[string]bool{}
			dead := make(chan struct{})
			var done sync.WaitGroup
			for w := range writers {
				done.Go(func() {
					for i := 0; ; i++ {
						method, target := "POST", "/v1/customers"
						body := fmt.Sprintf(`{"email":"buyer-%d-%d@example.com","name":"Buyer"}`, w, i)
						if i%3 == 2 {
							method, target, body = "PATCH", "/v1/products/"+product, fmt.Sprintf(`{"priceAmount":%d}`, 10_000*(w+1)+i)
						}
						status, got, err := b.withKey(keys[w]).try(method, target, body)
						if err != nil || status == http.StatusTooManyRequests {
							return // the server was killed, perhaps before its answer
						}
						mu.Lock()
						switch status {
						case http.StatusCreated:
							customers[got["id"].(string)] = true
						case http.StatusOK:
							prices[string(got["priceAmount"].(json.Number))] = true
						case http.StatusServiceUnavailable: // a busy machine may refuse some requests
						default:
							t.Errorf("%s %s: %d %v", method, target, status, got)
						}
						mu.Unlock()
						if answered.Add(1) == enough {
							_ = p.Process.Kill()
							close(dead)
						}
					}
				})
			}
			done.Wait()
			<-dead
			_ = p.Wait()

			again := startServer(t, address)
			b.url = again.url
			rows, err := b.installation.db.Client().Customer.Query().Where(customer.StoreID(b.store.ID)).IDs(b.ctx)
			require.NoError(t, err)
			written := map[string]bool{}
			for _, id := range rows {
				written[id.String()] = true
			}
			for id := range customers {
				require.True(t, written[id], "a customer that was answered 201 is lost")
			}
			received := map[string]bool{}
			for _, e := range b.events() {
				require.Equal(t, "customer.created", e.kind)
				received[decodedObject(b, e.data)["id"].(string)] = true
			}
			require.Equal(t, written, received, "customers and their events")

			journaled := map[string]bool{}
			steps := map[string]bool{}
			for _, e := range b.entries()[before:] {
				switch e.action {
				case "customer.created":
					journaled[e.id] = true
				case "product.updated":
					change := e.changes["priceAmount"].(map[string]any)
					steps[string(change["to"].(json.Number))] = true
				default:
					t.Errorf("an entry of nothing that was asked for: %s", e.action)
				}
			}
			require.Equal(t, written, journaled, "customers and their journal entries")
			for asked := range prices {
				require.True(t, steps[asked], "a price that was answered 200 is not in the journal")
			}
			got := decodedObject(b, b.get("/v1/products/"+product))
			price := string(got["priceAmount"].(json.Number))
			require.True(t, steps[price], "the price is one in the journal")
			b.requireFields(decodedObject(b, b.get("/v1/customers?pageSize=1")), object{"total": len(written)})
			require.NotEmpty(t, customers)
			require.NotEmpty(t, prices)
			t.Logf("%d answered customers of %d written, %d answered prices of %d", len(customers), len(written), len(prices), len(steps))
		})
	}
}

// openBench opens a bench on a database that servers in other processes also use.
func openBench(t *testing.T, address string) *bench {
	t.Helper()
	handle, err := hook.Open(context.Background(), db.Config{URL: address, MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, handle.Close()) })
	s := &installation{rules: newRules(handle, admin.Options{}), db: handle, plain: newClient(false), clock: newClock(0),
		log: &dbtest.Log{}}
	t.Cleanup(s.plain.CloseIdleConnections)
	return s.newBench(t, restProtocol{})
}

func (b *bench) try(method, target, body string) (int, object, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, b.url+target, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	b.authorize(r.Header)
	r.Header.Set("Content-Type", "application/json")
	response, err := b.plain.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var got object
	err = d.Decode(&got)
	return response.StatusCode, got, err
}
