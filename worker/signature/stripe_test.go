package signature_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v85/webhook"

	"go.storefront.example/worker/signature"
)

// Stripe's verifier accepts our deliveries. It reads the system's clock, so these rows use the current time.
func TestAPublishedVerifierAgrees(t *testing.T) {
	t.Parallel()
	now := time.Now()
	signed := signature.Sign(secret, now, body)
	require.NoError(t, webhook.ValidatePayload(body, signed, secret))
	require.NoError(t, webhook.ValidatePayload(nil, signature.Sign(secret, now, nil), secret), "an empty body")

	require.ErrorIs(t, webhook.ValidatePayload(append([]byte(" "), body...), signed, secret),
		webhook.ErrNoValidSignature, "a changed body")
	require.ErrorIs(t, webhook.ValidatePayload(body, signed, signature.NewSecret()),
		webhook.ErrNoValidSignature, "a wrong secret")
	old := now.Add(-signature.Tolerance - time.Minute)
	require.ErrorIs(t, webhook.ValidatePayload(body, signature.Sign(secret, old, body), secret),
		webhook.ErrTooOld, "an old signature")
	require.Equal(t, webhook.DefaultTolerance, signature.Tolerance)

	theirs := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: now})
	require.NoError(t, signature.Verify(theirs.Header, body, secret, now, signature.Tolerance), "and theirs is ours")
	require.Equal(t, theirs.Header, signed)
}
