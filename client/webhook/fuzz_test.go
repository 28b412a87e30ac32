package webhook_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/client/webhook"
)

type readCloser struct{ io.Reader }

func (readCloser) Close() error { return nil }

// Without the service's signature there is no event. With it there is one, or ErrPayload.
func FuzzVerify(f *testing.F) {
	ping := envelope("ping", `{"message":"hello","sentAt":"2026-11-21T12:00:00.123Z"}`)
	f.Add(ping, webhook.Sign(ping, secret, noon))
	f.Add(envelope("order.paid", `{"id":"o","amount":1e2,"items":[{"quantity":1}],"paidAt":null}`), "t=1,v1=00")
	f.Add(envelope("product.archived", `{"status":"NEWER","x":{"y":[]}}`), "")
	f.Add([]byte(`{"id":"x","type":"y"}`), "t=,v1=")
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		right := webhook.Sign(body, secret, noon)
		event, err := webhook.Verify(body, header, secret, atNoon())
		if err == nil || errors.Is(err, webhook.ErrPayload) {
			require.Subset(t, strings.Split(header, ","), strings.Split(right, ","), "only a signature of ours is accepted")
		}
		require.Equal(t, err == nil, event != nil)

		event, err = webhook.Verify(body, right, secret, atNoon())
		if err != nil {
			require.ErrorIs(t, err, webhook.ErrPayload)
			require.Nil(t, event)
			return
		}
		require.NotEmpty(t, event.ID)
		require.NotEmpty(t, event.Type)
	})
}
