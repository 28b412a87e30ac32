package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"go.storefront.example/client/webhook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// paid is a delivery of order.paid, as the service would send it now.
func paid() *http.Request {
	body := `{
		"id": "01a1fc49-23e5-7d82-9e18-79e8a42fda29",
		"type": "order.paid",
		"createdAt": "2026-11-21T04:06:59.158Z",
		"store": {"id": "0198c1f0-0000-7000-8000-0000000000aa", "slug": "douala"},
		"data": {"id": "0198c1f0-0000-7000-8000-0000000000bb", "reference": "MB-1042", "status": "PAID", "amount": 12000, "currency": "XAF"}
	}`
	request := httptest.NewRequest(http.MethodPost, "/webhooks", strings.NewReader(body))
	request.Header.Set(webhook.SignatureHeader, webhook.Sign([]byte(body), secret, time.Now()))
	return request
}

// A receiver stores each event, answers within ten seconds, and then works. It handles an order once, by its id, because two
// events report the payment of a link, and any event may come again.
func ExampleRead() {
	stored := make(chan *webhook.Event, 10) // stands for a table of your database
	receive := func(w http.ResponseWriter, r *http.Request) {
		event, err := webhook.Read(r, secret) // the secret is from your settings
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		stored <- event
		w.WriteHeader(http.StatusNoContent)
	}

	receive(httptest.NewRecorder(), paid())
	receive(httptest.NewRecorder(), paid())
	close(stored)
	shipped := map[string]bool{} // stands for a table whose key is the order's id
	for event := range stored {
		switch data := event.Data.(type) {
		case *storefrontv1.Order:
			paid := event.Type == webhook.OrderPaid || event.Type == webhook.PaymentLinkPaid
			if paid && !shipped[data.GetId()] {
				shipped[data.GetId()] = true
				fmt.Println("paid:", data.GetReference(), data.GetAmount(), data.GetCurrency())
			}
		case *storefrontv1.Customer:
			fmt.Println(event.Type, data.GetName())
		case *storefrontv1.Product:
			fmt.Println(event.Type, data.GetTitle())
		case *webhook.PingData:
			fmt.Println(event.Type, data.Message)
		default: // a type that is newer than this program
		}
	}
	// Output: paid: MB-1042 12000 XAF
}

// A test of a receiver signs its deliveries as the service would.
func ExampleSign() {
	receive := func(w http.ResponseWriter, r *http.Request) {
		if _, err := webhook.Read(r, secret); err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}

	body := `{"id":"01a1fc49-23e5-7d82-9e18-79e8a42fda29","type":"ping","createdAt":"2026-11-21T04:06:59.158Z",` +
		`"store":{"id":"0198c1f0-0000-7000-8000-0000000000aa","slug":"douala"},"data":{"message":"hello"}}`
	for _, signer := range []string{secret, "whsec_of-somebody-else"} {
		request := httptest.NewRequest(http.MethodPost, "/webhooks", strings.NewReader(body))
		request.Header.Set(webhook.SignatureHeader, webhook.Sign([]byte(body), signer, time.Now()))
		answer := httptest.NewRecorder()
		receive(answer, request)
		fmt.Println(answer.Code)
	}
	// Output:
	// 200
	// 400
}

// Verify is for frameworks without an *http.Request. Pass the bytes exactly as received: a body that was parsed and serialised
// again has another signature.
func ExampleVerify() {
	body := []byte(`{"id":"01a1fc49-23e5-7d82-9e18-79e8a42fda29","type":"ping","createdAt":"2026-11-21T04:06:59.158Z",` +
		`"store":{"id":"0198c1f0-0000-7000-8000-0000000000aa","slug":"douala"},"data":{"message":"hello"}}`)
	header := webhook.Sign(body, secret, time.Now())

	event, err := webhook.Verify(body, header, secret)
	fmt.Println(event.Type, err)

	_, err = webhook.Verify(append(body, '\n'), header, secret)
	var refused *webhook.Error
	if errors.As(err, &refused) {
		fmt.Println(errors.Is(err, webhook.ErrMismatch), refused.Mistake)
	}
	// Output:
	// ping <nil>
	// true changed_body
}
