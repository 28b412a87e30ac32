// Package client is the Go client of a store's API: its store, products, orders, customers and
// payment links, with one API key.
//
//	shop, err := client.New("https://api.example.com", os.Getenv("SHOP_KEY"))
//	…
//	for product, err := range shop.Products.List(ctx, client.ProductFilter{Status: client.ProductPublished}) {
//	…
//	_, err = shop.Products.Update(ctx, id, client.ProductChange{Title: client.Set("Guide")})
//
// Answers are the messages of go.storefront.example/gen/storefront/v1, whose comments are the reference of every field; the
// comments of its services list each method's codes. The package adds the key to every request, iterates over lists, returns
// errors with the service's code, and retries failed requests. It uses Connect's binary format, so
// that a new enum value keeps its number in an older program. For other protocols or without retries,
// use the generated package go.storefront.example/gen/storefront/v1/storefrontv1connect.
//
// A failed request is retried, at most WithMaxRetries times:
//
//	failure             PaymentLinks.Create       everything else
//	429                 retry after Retry-After   retry after Retry-After
//	5xx                 no retry                  retry after Retry-After or a delay
//	no answer           no retry                  retry after a delay
//
// After a 429 the service has changed nothing. Updates, enabling a link and creating a customer may be repeated, because
// repeating them changes nothing more. When the answer to PaymentLinks.Create is lost, the link may exist. A second link
// could receive payments as well, so the caller decides whether to create one. The delay doubles from 250 ms to at most 8 s,
// and half of it is random. If Retry-After is more than a minute, the call fails at once; a date in it counts as none. An
// answer of more than 32 MiB is an UnexpectedAnswer.
//
// A call with its retries and delays ends within WithTimeout, 2 minutes by default, or at the
// context's deadline if that is earlier. An attempt ends after 30 s. If a delay would go beyond the
// deadline, the call fails at once. In a list, WithTimeout bounds each page, and only the context
// bounds the whole list, because your loop may take any time between two pages.
//
// A loop over a filtered list that changes what it filters misses items, because older items move forward: collect the ids
// first, then change the items. WithResponse shows status, request id and rate limit of a call.
//
// The package sends a key over a network only with TLS, never follows a redirect with it, and
// never shows it in an error or in a printed Client. By default it uses the proxy of HTTPS_PROXY or HTTP_PROXY, but never for
// this machine. Package client/webhook verifies deliveries of webhooks. The client imports neither the server nor a database, so
// programs that use it stay small.
package client

import (
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"go.storefront.example/gen/storefront/v1/storefrontv1connect"
)

// Client calls the API of its key's store. Goroutines may share it.
type Client struct {
	Store        *Store
	Products     *Products
	Orders       *Orders
	Customers    *Customers
	PaymentLinks *PaymentLinks
}

// DefaultMaxRetries applies unless WithMaxRetries sets another number.
const DefaultMaxRetries = 3

// DefaultTimeout is how long a call and its retries may take, unless WithTimeout sets another time.
const DefaultTimeout = 2 * time.Minute

// New returns a client of the service at a base URL, such as https://api.example.com, without /v1. It does not connect yet. The
// error never contains the key.
func New(baseURL, key string, options ...Option) (*Client, error) {
	s := settings{maxRetries: DefaultMaxRetries, timeout: DefaultTimeout, userAgent: agent()}
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

	c := &caller{maxRetries: s.maxRetries, timeout: s.timeout}
	opened := &recordingClient{httpClient: &s.httpClient}
	signed := connect.WithClientOptions(connect.WithInterceptors(signer(key, s.userAgent)), connect.WithReadMaxBytes(maxAnswerBytes))
	return &Client{
		Store:        &Store{c, storefrontv1connect.NewStoreServiceClient(opened, address, signed)},
		Products:     &Products{c, storefrontv1connect.NewProductServiceClient(opened, address, signed)},
		Orders:       &Orders{c, storefrontv1connect.NewOrderServiceClient(opened, address, signed)},
		Customers:    &Customers{c, storefrontv1connect.NewCustomerServiceClient(opened, address, signed)},
		PaymentLinks: &PaymentLinks{c, storefrontv1connect.NewPaymentLinkServiceClient(opened, address, signed)},
	}, nil
}
