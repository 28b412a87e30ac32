package devtest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/cluster"
	"go.storefront.example/worker/signature"
)

// FreeAddress returns an address of this machine that no other test gets meanwhile.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := cluster.FreePort()
	require.NoError(t, err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

const order = `{"id":%q,"reference":%q,"status":%q,"amount":9000,"currency":"XAF","platformFeePercent":5,` +
	`"customer":{"id":"4","name":"","email":null,"phone":null},"items":[],"paymentLink":null,"note":null,` +
	`"paidAt":"2026-11-21T12:00:00.000Z","createdAt":"2026-11-21T12:00:00.000Z"}`

// CheckReceiver starts server, a receiver of webhooks that listens at address and verifies with the secret, and checks it:
//
//   - It accepts body, which is a customer.created event, and logs customer for it.
//   - It handles a paid order once, although two events report the payment and one of them comes twice, and no failed order.
//   - It answers 400 to every other request, whatever its body, content type and encoding.
//   - Its log contains the address. When it gets the signal, it exits with exitCode; -1 means that the signal kills it.
func CheckReceiver(t testing.TB, server *exec.Cmd, signal os.Signal, exitCode int, address, secret, body, customer string) {
	t.Helper()
	log := &lockedBuffer{}
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() })
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}, Timeout, 20*time.Millisecond)
	post := func(status int, body string, headers map[string]string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/webhooks", strings.NewReader(body))
		require.NoError(t, err)
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err, log)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, "%q %v\n%s", body, headers, log)
	}
	const form, multipart = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
	signed := func(text string) map[string]string {
		return map[string]string{"Content-Type": "application/json", signature.Header: signature.Sign(secret, time.Now(), []byte(text))}
	}
	for _, bad := range []struct{ body, contentType, encoding, signature string }{
		{"", "", "", ""},
		{"", "application/json", "", "t=1,v1=00"},
		{"x=1", form, "", ""},
		{"x=1", "", "", "junk"},
		{body, "text/plain", "", ""},
		{body, "application/json; charset=utf-16", "", ""},
		{body, "application/json; charset=nonsense", "", "t=x"},
		{body, "application/json", "gzip", ""},
		{body, "application/json", "nonsense", ""},
		{"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n", multipart, "", ""},
		{"\xff\xfe\x00", "application/json", "", "\xe9"},
		{body, "application/json", "", ""},
		{body + " ", "application/json", "", signature.Sign(secret, time.Now(), []byte(body))},
	} {
		headers := map[string]string{}
		for name, value := range map[string]string{"Content-Type": bad.contentType, "Content-Encoding": bad.encoding,
			signature.Header: bad.signature} {
			if value != "" {
				headers[name] = value
			}
		}
		post(http.StatusBadRequest, bad.body, headers)
	}
	// Send the customer's event last: receivers handle events in their order, some of them after the answer.
	paid, failed := uuid.NewString(), uuid.NewString()
	events := []string{}
	for _, e := range []struct{ id, kind, data string }{
		{uuid.NewString(), "order.failed", fmt.Sprintf(order, failed, "ORD-FAILED", "FAILED")},
		{paid, "order.paid", fmt.Sprintf(order, paid, "ORD-PAID", "PAID")},
		{uuid.NewString(), "payment_link.paid", fmt.Sprintf(order, paid, "ORD-PAID", "PAID")},
		{paid, "order.paid", fmt.Sprintf(order, paid, "ORD-PAID", "PAID")},
	} {
		events = append(events, fmt.Sprintf(`{"id":%q,"type":%q,"createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo"},`+
			`"data":%s}`, e.id, e.kind, e.data))
	}
	for _, text := range append(events, body) {
		post(http.StatusNoContent, text, signed(text))
	}
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "new: "+customer) }, Timeout, 20*time.Millisecond, log)
	require.NoError(t, server.Process.Signal(signal))
	stuck := time.AfterFunc(Timeout, func() { _ = server.Process.Kill() })
	_ = server.Wait()
	require.True(t, stuck.Stop(), "the receiver does not end: %s", log)
	require.Equal(t, exitCode, server.ProcessState.ExitCode(), "%s", log)
	require.NotContains(t, log.String(), "Traceback")
	require.Contains(t, log.String(), "http://"+address)
	require.Contains(t, log.String(), "there is no Service-Signature header")
	require.Contains(t, log.String(), "not written as the service writes it")
	require.Equal(t, 1, strings.Count(log.String(), "paid: ORD-PAID 9000 XAF"), "%s", log)
	require.NotContains(t, log.String(), "ORD-FAILED")
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
