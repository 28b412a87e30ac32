package edge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/tenant"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
	"go.storefront.example/server/edge"
	"go.storefront.example/server/limit"
)

const (
	fullKey    = "full"    // a key with every scope
	readKey    = "read"    // a key with products:read only
	brokenKey  = "broken"  // a key for which the gate fails
	limitedKey = "limited" // a key for which the gate refuses with rate_limited
	otherKey   = "other"   // a key of another store, with every scope
	productID  = "0b0b0b0b-0000-4000-8000-000000000001"
)

// now is 42 seconds before the next minute.
var now = time.Date(2026, 9, 1, 12, 0, 18, 123_000_000, time.UTC)

var errDatabase = errors.New("dial tcp: connection refused")

// gate admits a request by the text of its key, such as fullKey.
type gate struct {
	mu        sync.Mutex
	addresses []netip.Addr
}

func (g *gate) Admit(_ context.Context, authorization []string, address netip.Addr) (auth.Principal, limit.Rate, error) {
	g.mu.Lock()
	g.addresses = append(g.addresses, address)
	g.mu.Unlock()
	if len(authorization) != 1 {
		return auth.Principal{}, limit.Uncounted(now), apierr.New(apierr.APIKeyMissing, "Send the key.")
	}
	principal := auth.Principal{KeyID: uuid.MustParse(productID), KeyName: "tool", Store: tenant.Store{ID: uuid.MustParse(productID),
		Slug: "shop"}}
	rate := limit.Counted(limit.RequestsPerMinute, 7, now)
	switch strings.TrimPrefix(authorization[0], "Bearer ") {
	case fullKey:
		principal.Scopes = auth.Scopes()
		return principal, rate, nil
	case otherKey:
		principal.Scopes, principal.Store.ID = auth.Scopes(), uuid.MustParse("0b0b0b0b-0000-4000-8000-000000000002")
		return principal, rate, nil
	case readKey:
		principal.Scopes = []string{auth.ScopeProductsRead}
		return principal, rate, nil
	case brokenKey:
		return auth.Principal{}, limit.Uncounted(now), errDatabase
	case limitedKey:
		return principal, limit.Counted(limit.RequestsPerMinute, 121, now), apierr.New(apierr.RateLimited, "Slow down.")
	default:
		return auth.Principal{}, limit.Uncounted(now), apierr.New(apierr.APIKeyInvalid, "No such key.")
	}
}

// api implements the five services with fixed answers, and keeps the requests.
type api struct {
	storefrontv1connect.UnimplementedStoreServiceHandler
	storefrontv1connect.UnimplementedProductServiceHandler
	storefrontv1connect.UnimplementedOrderServiceHandler
	storefrontv1connect.UnimplementedCustomerServiceHandler
	storefrontv1connect.UnimplementedPaymentLinkServiceHandler

	mu   sync.Mutex
	seen []proto.Message
}

// saw keeps a request that could be decoded, and otherwise returns its refusal with the fields that a rule refuses.
func (a *api) saw(ctx context.Context, m proto.Message) error {
	if invalid := apijson.DecodedOf(ctx).Invalid; invalid != nil {
		return check(m, invalid)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, proto.Clone(m))
	return nil
}

func (a *api) last() proto.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.seen) == 0 {
		return nil
	}
	return a.seen[len(a.seen)-1]
}

func (a *api) GetStore(ctx context.Context, r *storefrontv1.GetStoreRequest) (*storefrontv1.Store, error) {
	if err := a.saw(ctx, r); err != nil {
		return nil, err
	}
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		info.ResponseHeader().Set("X-Leak", "of a handler") // a header that the edge must not send
	}
	store, actor, ok := tenant.From(ctx)
	if !ok {
		return nil, errors.New("no tenant")
	}
	return &storefrontv1.Store{Slug: store.Slug, Name: actor.Name}, nil
}

func (a *api) ListProducts(ctx context.Context, r *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse, error) {
	if err := a.saw(ctx, r); err != nil {
		return nil, err
	}
	return &storefrontv1.ListProductsResponse{Page: 1, PageSize: 25, Total: 1, Data: []*storefrontv1.Product{
		{Id: productID, Description: strings.Repeat("é", 5000)},
	}}, nil
}

func (a *api) GetProduct(ctx context.Context, r *storefrontv1.GetProductRequest) (*storefrontv1.Product, error) {
	if err := a.saw(ctx, r); err != nil {
		return nil, err
	}
	switch r.GetId() {
	case "panic":
		panic("secret in a panic")
	case "fails":
		return nil, errors.New("secret in an error")
	case "away":
		return nil, errDatabase
	case productID:
		return &storefrontv1.Product{Id: r.GetId(), Title: "A & B"}, nil
	default:
		return nil, apierr.New(apierr.ProductNotFound, "No product has this id.")
	}
}

func (a *api) UpdateProduct(ctx context.Context, r *storefrontv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	if err := a.saw(ctx, r); err != nil {
		return nil, err
	}
	if r.GetStatus() == storefrontv1.Product_PUBLISHED {
		return nil, &apierr.Refusal{
			Code: apierr.ProductIncomplete, Message: "Not complete.",
			Details: &storefrontv1.ErrorDetails{Missing: []string{"description", "content"}},
		}
	}
	return &storefrontv1.Product{Id: r.GetId(), Title: r.GetTitle()}, nil
}

func (a *api) ListOrders(ctx context.Context, r *storefrontv1.ListOrdersRequest) (*storefrontv1.ListOrdersResponse, error) {
	if err := a.saw(ctx, r); err != nil {
		return nil, err
	}
	return &storefrontv1.ListOrdersResponse{}, nil
}

func (a *api) CreateCustomer(ctx context.Context, r *storefrontv1.CreateCustomerRequest) (*storefrontv1.Customer, error) {
	if err := a.saw(ctx, r); err != nil {
		return nil, err
	}
	if r.GetEmail() != "known@example.com" {
		edge.Created(ctx)
	}
	return &storefrontv1.Customer{Id: productID, Name: r.GetName()}, nil
}

func (a *api) CreatePaymentLink(context.Context, *storefrontv1.CreatePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	return nil, apierr.New(apierr.FeatureDisabled, "Payment links are closed.")
}

func (a *api) EnablePaymentLink(ctx context.Context, r *storefrontv1.EnablePaymentLinkRequest) (*storefrontv1.PaymentLink, error) {
	if err := a.saw(ctx, r); err != nil {
		return nil, err
	}
	return &storefrontv1.PaymentLink{Id: r.GetId()}, nil
}

func (a *api) services(opts ...connect.HandlerOption) []edge.Service {
	var s []edge.Service
	add := func(path string, h http.Handler) { s = append(s, edge.Service{Path: path, Handler: h}) }
	add(storefrontv1connect.NewStoreServiceHandler(a, opts...))
	add(storefrontv1connect.NewProductServiceHandler(a, opts...))
	add(storefrontv1connect.NewOrderServiceHandler(a, opts...))
	add(storefrontv1connect.NewCustomerServiceHandler(a, opts...))
	add(storefrontv1connect.NewPaymentLinkServiceHandler(a, opts...))
	return s
}

// check stands in for the shop's rules: it refuses a product's title "bad" together with all fields that could not be decoded.
func check(m proto.Message, invalid *apijson.Invalid) error {
	if r, ok := m.(*storefrontv1.UpdateProductRequest); ok && r.GetTitle() == "bad" {
		fields := []apijson.Field{{Name: "title", Message: "must not be bad"}}
		return apierr.Invalid("The request has invalid fields.", append(fields, invalid.Fields...)...)
	}
	return nil
}

// world is an edge, with the requests that it observed and its log.
type world struct {
	edge     *edge.Edge
	api      *api
	gate     *gate
	url      string
	addr     string
	client   *http.Client
	log      *dbtest.Log
	observe  func(edge.Request)
	mu       sync.Mutex
	observed []edge.Request
	slots    *limit.Slots
	timeout  time.Duration
}

func (w *world) requests() []edge.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	observed := append([]edge.Request(nil), w.observed...)
	for i := range observed {
		observed[i].Duration = 0 // durations differ from run to run
	}
	return observed
}

// newWorld returns an edge without a listener.
func newWorld(t testing.TB, change ...func(*edge.Config)) *world {
	t.Helper()
	w := &world{api: &api{}, gate: &gate{}, log: &dbtest.Log{}, slots: limit.NewSlots(32, 16)}
	w.observe = func(r edge.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.observed = append(w.observed, r)
	}
	health := func(options ...connect.HandlerOption) map[string]http.Handler {
		path, handler := grpchealth.NewHandler(grpchealth.NewStaticChecker(), options...)
		return map[string]http.Handler{path + "Check": handler}
	}
	config := edge.Config{
		Gate: w.gate, Services: w.api.services, Keyless: health,
		Logger:      slog.New(slog.NewJSONHandler(w.log, nil)),
		Unreachable: func(err error) bool { return errors.Is(err, errDatabase) },
		Now:         func() time.Time { return now },
		Observe:     func(r edge.Request) { w.observe(r) },
	}
	for _, f := range change {
		f(&config)
	}
	if config.Slots == nil {
		config.Slots = w.slots
	}
	w.slots, w.timeout = config.Slots, config.Timeout
	var err error
	w.edge, err = edge.New(config)
	require.NoError(t, err)
	return w
}

// start runs an edge on a loopback listener until the test ends.
func start(t *testing.T, change ...func(*edge.Config)) *world {
	t.Helper()
	w := newWorld(t, change...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := edge.NewServer(w.edge, edge.Timeouts{Request: w.timeout}, slog.New(slog.DiscardHandler))
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	w.addr = l.Addr().String()
	w.url = "http://" + w.addr
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	w.client = &http.Client{Transport: transport}
	return w
}

type answer struct {
	status int
	header http.Header
	body   string
}

// problem is the error body of the specification.
type problem struct {
	StatusCode int             `json:"statusCode"`
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Details    json.RawMessage `json:"details"`
	RequestID  string          `json:"requestId"`
	Timestamp  string          `json:"timestamp"`
}

// do sends a request with fullKey, unless headers have another key.
func (w *world) do(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	return w.send(t, method, path, reader, headers...)
}

func (w *world) send(t *testing.T, method, path string, body io.Reader, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+fullKey)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	res, err := w.client.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res.StatusCode, res.Header, string(text)}
}

// requireHeaders asserts exactly the headers that every answer has and those named.
func requireHeaders(t *testing.T, a answer, headers ...string) {
	t.Helper()
	require.Len(t, a.header["X-Ratelimit-Limit"], 1)
	require.Equal(t, "120", a.header.Get("X-RateLimit-Limit"))
	require.NotEmpty(t, a.header.Get("X-RateLimit-Remaining"))
	require.Equal(t, "42", a.header.Get("X-RateLimit-Reset"))
	id, err := uuid.Parse(a.header.Get("X-Request-Id"))
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, id)
	require.Equal(t, []string{"no-store"}, a.header["Cache-Control"])
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	own := append([]string{
		"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id", "Cache-Control", "Content-Type", "Content-Length",
		"Date",
	}, headers...)
	for name := range a.header {
		require.Contains(t, own, name, "a header that the specification does not name")
	}
}

// requireProblem asserts a refusal with the specification's error body, and returns it.
func requireProblem(t *testing.T, a answer, status int, code apierr.Code, details string, headers ...string) problem {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	requireHeaders(t, a, headers...)
	var p problem
	d := json.NewDecoder(strings.NewReader(a.body))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&p), a.body)
	require.Equal(t, status, p.StatusCode)
	require.Equal(t, string(code), p.Code)
	require.NotEmpty(t, p.Message)
	require.Equal(t, a.header.Get("X-Request-Id"), p.RequestID)
	require.Equal(t, "2026-09-01T12:00:18.123Z", p.Timestamp)
	if details == "" {
		require.NotContains(t, a.body, `"details"`)
	} else {
		require.Equal(t, details, string(p.Details))
	}
	return p
}
