package signature_test

import (
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v85/webhook"

	"go.storefront.example/worker/signature"
)

// vector is one input for a verifier, with the right answer. The verifiers of the project, in Go, TypeScript, PHP and
// Python, and published verifiers are tested with the same file. Its signatures were computed with Python's hmac and
// hashlib.
type vector struct {
	Name   string
	Secret string
	Body   string
	Header string
	// Now is the receiver's clock, in Unix seconds.
	Now              int64
	ToleranceSeconds int64
	// Want is "ok" or the reason of the refusal: "no_signature", "mismatch" or "timestamp".
	Want string
	// StripeGo and StripeNode are the answers of Stripe's verifiers for Go and for Node: "ok" or "refused", or "" if the answer
	// agrees with Want.
	StripeGo, StripeNode string
	// Because says why Stripe's verifiers differ from Want; "" if they do not.
	Because string
}

// words maps each value of vector.Want to the error that Verify must return.
var words = map[string]error{
	"ok":           nil,
	"no_signature": signature.ErrNoSignature,
	"mismatch":     signature.ErrMismatch,
	"timestamp":    signature.ErrTimestamp,
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	var all []vector
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all)
	return all
}

func (v vector) tolerance() time.Duration { return time.Duration(v.ToleranceSeconds) * time.Second }

func TestVerifyAnswersTheVectors(t *testing.T) {
	t.Parallel()
	answered := map[string]bool{}
	for _, v := range vectors(t) {
		want, known := words[v.Want]
		require.True(t, known, v.Name)
		answered[v.Want] = true
		got := signature.Verify(v.Header, []byte(v.Body), v.Secret, time.Unix(v.Now, 0), v.tolerance())
		require.ErrorIs(t, got, want, v.Name)
		differs := v.StripeGo != "" || v.StripeNode != ""
		require.Equal(t, differs, v.Because != "", "%s: a difference has its reason beside it", v.Name)
	}
	require.Len(t, answered, len(words), "every answer is asked for")
}

// Stripe's verifier answers each vector as the vector says. It reads the system's clock, so the test sleeps in a synctest
// bubble until the bubble's clock has the vector's time.
func TestAPublishedVerifierAnswersTheVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		want := v.StripeGo
		if want == "" && v.Want == "ok" {
			want = "ok"
		}
		synctest.Test(t, func(t *testing.T) {
			ahead := time.Until(time.Unix(v.Now, 0))
			time.Sleep(ahead)
			// Time in a synctest bubble only moves forward. If the vector's time is before the bubble's, the tolerance is made
			// longer by the difference.
			late := max(-ahead, 0)
			err := webhook.ValidatePayloadWithTolerance([]byte(v.Body), v.Header, v.Secret, v.tolerance()+late)
			require.Equal(t, want == "ok", err == nil, "%s: %v", v.Name, err)
		})
	}
}
