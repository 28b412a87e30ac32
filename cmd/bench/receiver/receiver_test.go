package receiver_test

import (
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

// start starts a receiver with one hook that answers and one that hangs, and a client that trusts it.
func start(t *testing.T, answer receiver.Answer) (*receiver.Receiver, *egress.Client) {
	t.Helper()
	r := receiver.Start(answer)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	r.SetHooks([]receiver.Hook{{Secret: "whsec_0"}, {Secret: "whsec_1", Hangs: true}})
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(r.Authority()))
	client := egress.New(egress.Options{Policy: egress.Policy{AllowPrivate: true}, RootCAs: roots, Timeout: time.Minute})
	t.Cleanup(client.Close)
	return r, client
}

func header(event uuid.UUID, secret string, body []byte) http.Header {
	return http.Header{
		"User-Agent": {signature.UserAgent}, signature.Header: {signature.Sign(secret, time.Now(), body)},
		signature.EventIDHeader: {event.String()}, signature.EventTypeHeader: {"order.paid"}, signature.AttemptHeader: {"3"},
	}
}

func TestADeliveryIsVerifiedAndRemembered(t *testing.T) {
	t.Parallel()
	r, client := start(t, receiver.OK)
	event, body := uuid.New(), []byte(`{"id":1}`)
	before := time.Now()
	for range 2 {
		require.True(t, client.Post(t.Context(), r.URL(0), header(event, "whsec_0", body), body).Succeeded())
	}
	count, err := r.Count()
	require.NoError(t, err)
	require.Equal(t, receiver.Count{Requests: 2, Events: 1}, count, "one event came twice")
	got := r.Requests()[1]
	require.Equal(t, event, got.Event)
	require.Equal(t, 3, got.Attempt)
	require.True(t, got.Succeeded())
	require.WithinRange(t, got.Arrived, before, time.Now())

	r.Forget()
	count, err = r.Count()
	require.NoError(t, err)
	require.Zero(t, count)
	require.Empty(t, r.Requests())
}

func TestWhatIsNoDeliveryIsCountedAsWrong(t *testing.T) {
	t.Parallel()
	body := []byte(`{}`)
	for _, row := range []struct {
		why, says string
		hook      int
		change    func(http.Header)
	}{
		{"signed with another secret", "does not match", 0, func(h http.Header) {
			h.Set(signature.Header, signature.Sign("other", time.Now(), body))
		}},
		{"signed long ago", "tolerated time", 0, func(h http.Header) {
			h.Set(signature.Header, signature.Sign("whsec_0", time.Now().Add(-time.Hour), body))
		}},
		{"not signed", "no readable signature", 0, func(h http.Header) { h.Del(signature.Header) }},
		{"no event", signature.EventIDHeader, 0, func(h http.Header) { h.Del(signature.EventIDHeader) }},
		{"no attempt", signature.AttemptHeader, 0, func(h http.Header) { h.Set(signature.AttemptHeader, "x") }},
		{"no such hook", "no such hook", 9, func(http.Header) {}},
	} {
		t.Run(row.why, func(t *testing.T) {
			t.Parallel()
			r, client := start(t, receiver.OK)
			h := header(uuid.New(), "whsec_0", body)
			row.change(h)
			require.Equal(t, http.StatusBadRequest, client.Post(t.Context(), r.URL(row.hook), h, body).Status)
			count, err := r.Count()
			require.ErrorContains(t, err, row.says)
			require.Zero(t, count)
		})
	}
}

func TestARefusedDeliveryIsNoSuccess(t *testing.T) {
	t.Parallel()
	r, client := start(t, func() (time.Duration, int) { return 0, http.StatusInternalServerError })
	body := []byte(`{}`)
	status := client.Post(t.Context(), r.URL(0), header(uuid.New(), "whsec_0", body), body).Status
	require.Equal(t, http.StatusInternalServerError, status)
	count, err := r.Count()
	require.NoError(t, err)
	require.Equal(t, receiver.Count{Requests: 1}, count)
	require.False(t, r.Requests()[0].Succeeded())
}

func TestAnAcceptedEventIsAcceptedAgain(t *testing.T) {
	t.Parallel()
	statuses := []int{http.StatusOK, http.StatusInternalServerError, http.StatusInternalServerError}
	r, client := start(t, func() (time.Duration, int) {
		status := statuses[0]
		statuses = statuses[1:]
		return 0, status
	})
	event, body := uuid.New(), []byte(`{}`)
	post := func(event uuid.UUID) int {
		return client.Post(t.Context(), r.URL(0), header(event, "whsec_0", body), body).Status
	}
	require.Equal(t, http.StatusOK, post(event))
	require.Equal(t, http.StatusNoContent, post(event), "its second delivery is nothing to fail about")
	require.Equal(t, http.StatusInternalServerError, post(uuid.New()), "another event is")
}

func TestAHookThatHangsRemembersAndNeverAnswers(t *testing.T) {
	t.Parallel()
	r, _ := start(t, receiver.OK)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(r.Authority()))
	hasty := egress.New(egress.Options{Policy: egress.Policy{AllowPrivate: true}, RootCAs: roots, Timeout: 2 * time.Second})
	t.Cleanup(hasty.Close)
	body := []byte(`{}`)
	require.Equal(t, "timeout", hasty.Post(t.Context(), r.URL(1), header(uuid.New(), "whsec_1", body), body).Problem)
	count, err := r.Count()
	require.NoError(t, err)
	require.Equal(t, receiver.Count{Requests: 1}, count)
	require.Zero(t, r.Requests()[0].Status)
}
