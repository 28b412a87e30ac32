package webhooktest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/client/webhook"
	"go.storefront.example/client/webhook/webhooktest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/server/conformance/devtest"
)

const (
	secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	ping   = `{"id":"1","type":"ping","createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo"},` +
		`"data":{"message":"hello","sentAt":"2026-11-21T12:00:00.000Z"}}`
)

// A test posts a delivery and reads the event that arrived.
func ExampleReceiver() {
	receiver := webhooktest.NewReceiver(secret)
	defer receiver.Close()

	request, _ := http.NewRequest(http.MethodPost, receiver.URL, strings.NewReader(ping))
	request.Header.Set(webhook.SignatureHeader, webhook.Sign([]byte(ping), secret, time.Now()))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	event, err := receiver.Next(ctx)
	fmt.Println(answer.StatusCode, event.Type, event.Data.(*webhook.PingData).Message, err)
	// Output: 204 ping hello <nil>
}

func TestWhatCannotBeVerifiedIsRefusedAndTold(t *testing.T) {
	t.Parallel()
	receiver := webhooktest.NewReceiver("")
	defer receiver.Close()
	for _, row := range []struct {
		set, signedWith string
		want            error
	}{{"", secret, webhook.ErrNoSecret}, {secret, secret + "x", webhook.ErrMismatch}, {secret, secret, nil}} {
		receiver.SetSecret(row.set)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, receiver.URL, strings.NewReader(ping))
		require.NoError(t, err)
		request.Header.Set(webhook.SignatureHeader, webhook.Sign([]byte(ping), row.signedWith, time.Now()))
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		event, err := receiver.Next(t.Context())
		require.True(t, errors.Is(err, row.want), "%v", err)
		require.Equal(t, row.want == nil, event != nil)
		require.Equal(t, map[bool]int{true: http.StatusNoContent, false: http.StatusBadRequest}[row.want == nil], answer.StatusCode)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := receiver.Next(ended)
	require.ErrorIs(t, err, context.Canceled)
}

func TestARealDelivery(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it builds the command and waits for its delivery")
	dev := devtest.Build(t).Start(t)
	receiver := webhooktest.NewReceiver("")
	defer receiver.Close()
	receiver.SetSecret(dev.Register(t, receiver.URL, "customer.created").Secret)
	var made struct{ ID string }
	dev.RunCommand(t, &made, "customer", "create", "--store", "demo", "--name", "Awa", "--email", "awa@example.com")
	ctx, cancel := context.WithTimeout(t.Context(), devtest.Timeout)
	defer cancel()
	event, err := receiver.Next(ctx)
	require.NoError(t, err)
	require.Equal(t, webhook.CustomerCreated, event.Type)
	require.Contains(t, string(event.Raw), made.ID)
}
