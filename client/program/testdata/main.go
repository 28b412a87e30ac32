// Command program is an example of an API caller: it lists products, changes one, makes a change that is refused, and receives
// the event of its change. It takes STOREFRONT_URL and STOREFRONT_KEY, prints the address of its webhook, and reads the
// webhook's secret from standard input.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"go.storefront.example/client"
	"go.storefront.example/client/webhook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	events, err := receive()
	if err != nil {
		return err
	}
	requests := &counter{}
	shop, err := client.New(os.Getenv("STOREFRONT_URL"), os.Getenv("STOREFRONT_KEY"),
		client.WithHTTPClient(&http.Client{Transport: requests}), client.WithUserAgent("program/1.0"))
	if err != nil {
		return err
	}

	var draft, published *storefrontv1.Product
	products := 0
	for product, err := range shop.Products.List(ctx, client.ProductFilter{PageSize: 5}) {
		if err != nil {
			return err
		}
		products++
		switch product.GetStatus() {
		case storefrontv1.Product_DRAFT:
			draft = product
		case storefrontv1.Product_PUBLISHED:
			published = product
		}
	}
	fmt.Println(products, "products on", requests.n, "pages")

	title := published.GetTitle() + " (2)"
	updated, err := shop.Products.Update(ctx, published.GetId(), client.ProductChange{Title: client.Set(title),
		Status: client.Set(client.ProductArchived)})
	if err != nil {
		return err
	}
	fmt.Println("updated:", updated.GetTitle() == title, updated.GetStatus())

	_, err = shop.Products.Update(ctx, draft.GetId(), client.ProductChange{Status: client.Set(client.ProductPublished)})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != client.ProductIncomplete {
		return fmt.Errorf("an incomplete product: %w", err)
	}
	fmt.Println("refused:", refused.Status, refused.Code, refused.Details.GetMissing())

	select {
	case event := <-events:
		product, is := event.Data.(*storefrontv1.Product)
		fmt.Println("event:", event.Type, is && product.GetId() == published.GetId(), product.GetTitle() == title)
	case <-ctx.Done():
		return fmt.Errorf("wait for the event: %w", ctx.Err())
	}
	return nil
}

func receive() (<-chan *webhook.Event, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	fmt.Printf("http://%s/webhooks\n", listener.Addr())
	secret, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read the webhook's secret: %w", err)
	}
	secret = strings.TrimSpace(secret)

	events := make(chan *webhook.Event, 100)
	http.HandleFunc("POST /webhooks", func(w http.ResponseWriter, r *http.Request) {
		event, err := webhook.Read(r, secret)
		if err != nil {
			log.Print(err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		events <- event
		w.WriteHeader(http.StatusNoContent)
	})
	go func() { log.Fatal(http.Serve(listener, nil)) }()
	return events, nil
}

// counter counts the requests that it passes on.
type counter struct{ n int }

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n++
	return http.DefaultTransport.RoundTrip(r)
}
