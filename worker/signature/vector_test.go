package signature_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/worker/signature"
)

// vector is one input for a verifier, with the right answer. The verifiers in Go, TypeScript, PHP and Python, and Stripe's for
// Node are tested with the same file. Its signatures were computed with Python's hmac and hashlib.
type vector struct {
	Name   string
	Secret string
	Body   string
	Header string
	// Now is the receiver's clock, in Unix seconds.
	Now              int64
	ToleranceSeconds int64
	// Want is "ok", "no_signature", "mismatch" or "timestamp".
	Want string
	// StripeGo and StripeNode are the answers of Stripe's verifiers, "ok" or "refused", or "" if they agree with Want. Those
	// for Go are of stripe-go v85.0.0.
	StripeGo, StripeNode string
	// Because says why Stripe's verifiers differ from Want; "" if they do not.
	Because string
}

// words has the error that Verify must return for each value of vector.Want.
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
