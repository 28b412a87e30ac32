package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/client"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
	"go.storefront.example/server/apierr"
)

const (
	key       = "svc_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
	baseURL   = "https://api.example.com"
	requestID = "79a8915a-dfa3-4478-8f40-8432eb1c2055"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// script is an http.RoundTripper that gives its answers one after the other, and repeats the last. It opens no sockets, at
// which the clock of a synctest bubble would stop.
type script struct {
	answers []answer

	mu       sync.Mutex
	requests []*http.Request
	at       []time.Time
}

// answer writes the response to a request, or returns an error of the network.
type answer func(w http.ResponseWriter, r *http.Request) error

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	next := s.answers[min(len(s.requests), len(s.answers)-1)]
	s.requests = append(s.requests, r)
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	if err := next(w, r); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (s *script) open(t *testing.T, options ...client.Option) *client.Client {
	t.Helper()
	shop, err := client.New(baseURL, key, append([]client.Option{client.WithHTTPClient(&http.Client{Transport: s})}, options...)...)
	require.NoError(t, err)
	return shop
}

func playing(answers ...answer) *script { return &script{answers: answers} }

// refuses is an error of the service. headers are pairs of a name and a value.
func refuses(r *apierr.Refusal, headers ...string) answer {
	return func(w http.ResponseWriter, request *http.Request) error {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		return connect.NewErrorWriter().Write(w, request, r.Connect(requestID, noon))
	}
}

// respondsWith is any HTTP response, such as a proxy's. headers are pairs of a name and a value.
func respondsWith(status int, contentType, body string, headers ...string) answer {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", contentType)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, err := w.Write([]byte(body))
		return err
	}
}

// breaks fails with err, an error of the network.
func breaks(err error) answer {
	return func(http.ResponseWriter, *http.Request) error { return err }
}

func sends(m proto.Message) answer {
	return func(w http.ResponseWriter, _ *http.Request) error {
		content, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/proto")
		_, err = w.Write(content)
		return err
	}
}

// hangs returns the error of the request's context once that has ended.
func hangs(_ http.ResponseWriter, r *http.Request) error {
	<-r.Context().Done()
	return r.Context().Err()
}

// catalogue keeps products in memory, the newest first.
type catalogue struct {
	storefrontv1connect.UnimplementedProductServiceHandler
	products []*storefrontv1.Product
	// asked lists the numbers of the requested pages.
	asked []int64
	// If set, before is called before each valid page is read, and changing before each update.
	before   func(page int64) error
	changing func(*storefrontv1.UpdateProductRequest)
}

func titled(titles ...string) *catalogue {
	c := &catalogue{}
	for i, title := range titles {
		c.products = append(c.products, &storefrontv1.Product{
			Id: "0198c1f0-0000-7000-8000-00000000000" + string(rune('0'+i)), Title: title,
			Status: storefrontv1.Product_DRAFT, PriceAmount: 1500, CompareAtAmount: new(int64(2500)), Currency: "XAF",
		})
	}
	return c
}

func (c *catalogue) ListProducts(_ context.Context, r *storefrontv1.ListProductsRequest) (*storefrontv1.ListProductsResponse,
	error) {
	page, size := int64(1), int32(25)
	if r.Page != nil {
		page = *r.Page
	}
	if r.PageSize != nil {
		size = *r.PageSize
	}
	c.asked = append(c.asked, page)
	if page < 1 {
		return nil, apierr.New(apierr.ValidationFailed, "The request has fields that cannot be used.").Connect(requestID, noon)
	}
	if c.before != nil {
		if err := c.before(page); err != nil {
			return nil, err
		}
	}
	total := int64(len(c.products))
	from, to := min((page-1)*int64(size), total), min(page*int64(size), total)
	return &storefrontv1.ListProductsResponse{Page: page, PageSize: size, Total: total, Data: c.products[from:to]}, nil
}

// UpdateProduct changes a title or a compare-at price, and refuses to publish a product.
func (c *catalogue) UpdateProduct(_ context.Context, r *storefrontv1.UpdateProductRequest) (*storefrontv1.Product, error) {
	if c.changing != nil {
		c.changing(r)
	}
	if r.GetStatus() == storefrontv1.Product_PUBLISHED {
		incomplete := apierr.New(apierr.ProductIncomplete, "The product cannot be published yet; details.missing lists what it lacks.")
		incomplete.Details = &storefrontv1.ErrorDetails{Missing: []string{"description", "content"}}
		return nil, incomplete.Connect(requestID, noon)
	}
	for _, p := range c.products {
		if p.GetId() != r.GetId() {
			continue
		}
		if r.Title != nil {
			p.Title = *r.Title
		}
		for _, path := range r.GetUpdateMask().GetPaths() {
			if path == "compare_at_amount" {
				p.CompareAtAmount = r.CompareAtAmount
			}
		}
		return p, nil
	}
	return nil, apierr.New(apierr.ProductNotFound, "There is no such product.").Connect(requestID, noon)
}

func (c *catalogue) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(storefrontv1connect.NewProductServiceHandler(c))
	return mux
}

func (c *catalogue) open(t *testing.T, options ...client.Option) *client.Client {
	t.Helper()
	handler := c.handler()
	return playing(func(w http.ResponseWriter, r *http.Request) error {
		handler.ServeHTTP(w, r)
		return nil
	}).open(t, options...)
}
