package webhook_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/client/webhook"
)

// All verifiers of the project have these vectors. Some bodies are no events, so a valid signature may give ErrPayload.
func TestVerifyAnswersTheVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../worker/signature/testdata/vectors.json")
	require.NoError(t, err)
	var vectors []struct {
		Name, Secret, Body, Header, Want, Mistake string
		Now, ToleranceSeconds                     int64
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.Greater(t, len(vectors), 40)
	reasons := map[string]error{
		"no_signature": webhook.ErrNoSignature, "mismatch": webhook.ErrMismatch, "timestamp": webhook.ErrTimestamp,
	}
	events := 0
	for _, v := range vectors {
		event, err := webhook.Verify([]byte(v.Body), v.Header, v.Secret,
			webhook.WithNow(func() time.Time { return time.Unix(v.Now, 0) }),
			webhook.WithTolerance(time.Duration(v.ToleranceSeconds)*time.Second))
		switch {
		case v.Want != "ok":
			require.ErrorIs(t, err, reasons[v.Want], v.Name)
			var refused *webhook.Error
			require.ErrorAs(t, err, &refused, v.Name)
			require.Equal(t, v.Mistake, string(refused.Mistake), "%s: %v", v.Name, err)
			require.Nil(t, event, v.Name)
		case err != nil:
			require.ErrorIs(t, err, webhook.ErrPayload, v.Name)
		default:
			require.Equal(t, webhook.Ping, event.Type, v.Name)
			events++
		}
	}
	require.Greater(t, events, 5)
}
