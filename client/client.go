// Package client is the Go client of a store's API: its store, products, orders, customers and
// payment links, with one API key.
//
//	shop, err := client.New("https://api.example.com", os.Getenv("SHOP_KEY"))
//	…
//	for product, err := range shop.Products.List(ctx, nil) {
//
// Requests and answers are the messages of go.storefront.example/gen/storefront/v1, whose comments
// are the reference of every field. The package owns what a caller would otherwise write around
// them: the key on every request, lists as iterators, errors with the service's code, and when a
// request may be sent again. It speaks the Connect protocol in its binary form, so that a value of
// an enum that is newer than the program is kept as its number.
//
// A request that the service, or something before it, did not carry out is sent again, as often as
// WithMaxRetries says:
//
//	answer              reads                 writes                payment links: create, enable
//	429                 after Retry-After     after Retry-After     never
//	5xx                 after a delay         never                 never
//	none (network)      after a delay         never                 never
//
// A 429 changed nothing, whatever was asked for. After a lost answer to a write nobody knows what
// it changed, so the caller decides. A payment link takes money, so no second one is ever made
// without being asked for. The delay doubles from 250 ms to at most 8 s, half of it at random. The
// context bounds all of it: where the wait would outlast the deadline, the error comes at once.
//
// The package refuses to send a key in clear text over a network, to follow a redirect with it, and
// to show it: it is in no error and in nothing that is printed of a Client. Deliveries of webhooks
// are verified by the package webhook beside this one. It imports neither the server nor a
// database, so a program that uses it has little to build.
package client

import (
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Client calls the API with one key, which decides whose data it sees. Goroutines may share it.
type Client struct {
	Store        *Store
	Products     *Products
	Orders       *Orders
	Customers    *Customers
	PaymentLinks *PaymentLinks
}

// DefaultMaxRetries is how often a request is sent again where WithMaxRetries says nothing.
const DefaultMaxRetries = 3

// answerTimeout is how long an attempt may take with the HTTP client that New makes: far longer than
// the service takes, so that only a dead connection is given up.
const answerTimeout = time.Minute

// New returns a client of the service at a base URL, such as https://api.example.com, without /v1.
// It connects to nothing yet. The error says which of its arguments cannot be used, and never
// holds the key.
func New(baseURL, key string, options ...Option) (*Client, error) {
	s := settings{httpClient: http.Client{Timeout: answerTimeout}, maxRetries: DefaultMaxRetries, userAgent: agent}
	for _, set := range options {
		set(&s)
	}
	address, err := address(baseURL, s.plainHTTP)
	if err != nil {
		return nil, fmt.Errorf("client: base URL: %w", err)
	}
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("client: API key: %w", err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	s.httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	c := &caller{maxRetries: s.maxRetries}
	opened := &door{httpClient: &s.httpClient}
	signed := connect.WithInterceptors(signer(key, s.userAgent))
	return &Client{
		Store:        &Store{c, storefrontv1connect.NewStoreServiceClient(opened, address, signed)},
		Products:     &Products{c, storefrontv1connect.NewProductServiceClient(opened, address, signed)},
		Orders:       &Orders{c, storefrontv1connect.NewOrderServiceClient(opened, address, signed)},
		Customers:    &Customers{c, storefrontv1connect.NewCustomerServiceClient(opened, address, signed)},
		PaymentLinks: &PaymentLinks{c, storefrontv1connect.NewPaymentLinkServiceClient(opened, address, signed)},
	}, nil
}
