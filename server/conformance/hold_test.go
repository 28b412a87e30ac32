package conformance_test

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

// heldTime is enough, on a busy machine, for requests that do not need the lock that a test holds.
const heldTime = 4 * time.Second

func (s *installation) hold(t *testing.T, statement string, args ...any) (release func()) {
	t.Helper()
	db, err := sql.Open("postgres", s.databaseURL)
	require.NoError(t, err)
	tx, err := db.Begin()
	require.NoError(t, err)
	_, err = tx.Exec(statement, args...)
	require.NoError(t, err)
	release = sync.OnceFunc(func() { _, _ = tx.Rollback(), db.Close() })
	t.Cleanup(release)
	return release
}

// While a customer's row is locked, requests for it wait until their timeout, and other stores do not wait.
func TestALockHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	s := newService(t, dbtest.Postgres, settings{timeout: heldTime})
	b, other := s.newBench(t, restProtocol{}), s.newBench(t, restProtocol{})
	created := b.json("POST", "/v1/customers", `{"email":"awa@example.com"}`)
	require.Equal(t, http.StatusCreated, created.status)
	id := created.body["id"].(string)
	require.Equal(t, http.StatusOK, other.answer(&getStore{}).status, "from now on its key's store is known")

	release := s.hold(t, "SELECT 1 FROM customers WHERE store_id = $1 AND id = $2 FOR UPDATE", b.store.ID, id)
	answers := make(chan answer, 12)
	for range 12 {
		go func() { answers <- b.json("PATCH", "/v1/customers/"+id, `{"name":"Awa"}`) }()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range 12 {
			a := <-answers
			b.refusedAs(a, http.StatusServiceUnavailable, "unavailable")
			if a.header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
			}
		}
	}()
	for served := 0; ; served++ {
		s.gate.advance(time.Minute) // so that the requests of this loop stay below the rate limit
		require.Equal(t, http.StatusOK, other.answer(&getStore{}).status, "another store is served all the while")
		select {
		case <-ended:
			require.Positive(t, served)
			release()
			require.Equal(t, http.StatusOK, b.json("PATCH", "/v1/customers/"+id, `{"name":"Awa"}`).status)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// While a table that every request needs is locked, every request gets 503 after its timeout.
func TestEveryRequestEndsInTime(t *testing.T) {
	t.Parallel()
	s := newService(t, dbtest.Postgres, settings{timeout: heldTime})
	b := s.newBench(t, restProtocol{})
	release := s.hold(t, "LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
	for _, f := range protocols() {
		a := b.withProtocol(f).answer(&getStore{})
		b.refusedAs(a, http.StatusServiceUnavailable, "unavailable")
		require.Equal(t, "1", a.header.Get("Retry-After"))
	}
	release()
	require.Equal(t, http.StatusOK, b.answer(&getStore{}).status)
}

func TestEveryRequestOfTheOperatorEndsInTime(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-operator-for-tests"
	s := newService(t, dbtest.Postgres, settings{timeout: heldTime, token: token})
	b := s.newBench(t, restProtocol{})
	for _, locked := range []bool{true, false} {
		release := func() {}
		if locked {
			release = s.hold(t, "LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.admin+"/storefront.admin.v1.KeyService/ListKeys",
			strings.NewReader(`{"store":"`+b.store.Slug+`"}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		response, err := s.plain.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, errors.Join(err, response.Body.Close()))
		release()
		if locked {
			require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, "%s", text)
			require.Contains(t, string(text), "storefront.v1.Error")
			continue
		}
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	}
}
