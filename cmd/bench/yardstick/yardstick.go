// Package yardstick is what the service is measured against: four operations of the API, written
// by hand on net/http, prepared SQL and encoding/json, the way a programmer in a hurry for speed
// would write them. It does the same work a request: the key by its fingerprint, its store and its
// counter in one statement, the rate headers, a request id, the read or the change, the same JSON,
// one log line.
//
// It imports nothing of the service, and uses the tables by their names only. It refuses what a
// benchmark never sends in the plainest way, and is no service to run: it completes no known
// customer, lists few problems at once and limits no addresses.
package yardstick

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// requestsPerMinute is how many requests a key may make in a minute (specification, Limits).
const requestsPerMinute = 120

// Service serves the four operations. Goroutines may share it.
type Service struct {
	db  database
	log *slog.Logger
	mux *http.ServeMux
}

// New returns a service over a database that has the schema already: postgres://… or sqlite:PATH.
// It keeps at most conns connections, on SQLite one more to write with.
func New(ctx context.Context, url string, conns int, log *slog.Logger) (*Service, error) {
	s := &Service{log: log, mux: http.NewServeMux()}
	var err error
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		s.db, err = openSQLite(ctx, path, conns)
	} else {
		s.db, err = openPostgres(ctx, url, conns)
	}
	if err != nil {
		return nil, err
	}
	s.mount("GET", "/v1/orders/{id}", "orders:read", s.getOrder)
	s.mount("GET", "/v1/orders", "orders:read", s.listOrders)
	s.mount("GET", "/v1/customers", "customers:read", s.listCustomers)
	s.mount("POST", "/v1/customers", "customers:write", s.createCustomer)
	return s, nil
}

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close closes the database.
func (s *Service) Close() error { return s.db.close() }

// operation answers a request of an admitted key with a status and a body to be put into JSON.
type operation func(ctx context.Context, c *caller, r *http.Request) (status int, body any, err error)

func (s *Service) mount(method, route, scope string, do operation) {
	s.mux.HandleFunc(method+" "+route, func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := uuid.NewString()
		h := w.Header()
		h["X-Request-Id"] = []string{id}
		c, err := s.admit(h, r, scope)
		var status int
		var body any
		if err == nil {
			status, body, err = do(r.Context(), c, r)
		}
		if err != nil {
			status, body = refused(err, id)
		}
		text, err := json.Marshal(body)
		if err != nil {
			status, text = http.StatusInternalServerError, []byte("{}")
		}
		h["Content-Type"] = []string{"application/json"}
		h["Content-Length"] = []string{strconv.Itoa(len(text))}
		w.WriteHeader(status)
		_, _ = w.Write(text)
		s.logLine(r, c, id, method, route, status, time.Since(start))
	})
}

func (s *Service) logLine(r *http.Request, c *caller, id, method, route string, status int, took time.Duration) {
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs,
		slog.String("request_id", id), slog.String("face", "rest"), slog.String("method", method),
		slog.String("route", route), slog.Int("status", status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000))
	if c != nil {
		attrs = append(attrs, slog.String("store", c.Store.Slug), slog.String("key_id", c.ID))
	}
	attrs = append(attrs, slog.String("address", address))
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
}

// caller is a key with its store and the requests it made in this minute.
type caller struct {
	ID, Name         string
	Scopes           []string
	Expires, Revoked *int64 // Unix milliseconds
	Store            struct{ ID, Slug, Currency, Country, Status string }
	count            int
}

// refusal is a refused request in the words of the API.
type refusal struct {
	status        int
	code, message string
}

func (r *refusal) Error() string { return r.code }

func (s *Service) admit(h http.Header, r *http.Request, scope string) (*caller, error) {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, &refusal{http.StatusUnauthorized, "api_key_missing", "The request has no key."}
	}
	now := time.Now()
	fingerprint := sha256.Sum256([]byte(key))
	c, err := s.db.admit(r.Context(), fingerprint[:], now)
	if err != nil {
		return nil, err
	}
	h["X-RateLimit-Limit"] = []string{strconv.Itoa(requestsPerMinute)}
	h["X-RateLimit-Remaining"] = []string{strconv.Itoa(max(0, requestsPerMinute-c.count))}
	h["X-RateLimit-Reset"] = []string{strconv.FormatInt(60-now.Unix()%60, 10)}
	switch {
	case c.Revoked != nil:
		return c, &refusal{http.StatusUnauthorized, "api_key_revoked", "The key was revoked."}
	case c.Expires != nil && now.UnixMilli() >= *c.Expires:
		return c, &refusal{http.StatusUnauthorized, "api_key_expired", "The key is past its expiry date."}
	case c.count > requestsPerMinute:
		h["Retry-After"] = h["X-RateLimit-Reset"]
		return c, &refusal{http.StatusTooManyRequests, "rate_limited", "The key made too many requests."}
	case c.Store.Status != "open":
		return c, &refusal{http.StatusForbidden, "store_unavailable", "The store is not open."}
	}
	for _, have := range c.Scopes {
		if have == scope || have == strings.TrimSuffix(scope, "read")+"write" {
			return c, nil
		}
	}
	return c, &refusal{http.StatusForbidden, "insufficient_scope", "The key lacks the scope."}
}

func refused(err error, requestID string) (int, any) {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		r = &refusal{http.StatusInternalServerError, "internal_error", "The service failed."}
	}
	return r.status, map[string]any{
		"statusCode": r.status, "code": r.code, "message": r.message,
		"requestId": requestID, "timestamp": stamp(time.Now()),
	}
}
