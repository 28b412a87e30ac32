package devtest

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest/cluster"
)

// FreeAddress returns an address of this machine, with a port on which nothing listens and that no other test gets meanwhile.
func FreeAddress(t testing.TB) string {
	t.Helper()
	port, err := cluster.FreePort()
	require.NoError(t, err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// CheckReceiver starts server, a receiver of webhooks that listens at address, and checks it. The receiver must accept body,
// which is a customer.created event, with this signature, and refuse every other request. Its log must contain the address,
// and customer, which is the text by which it logs the event's customer. When it gets the signal, it must exit with
// exitCode; -1 means that the signal kills it.
func CheckReceiver(t testing.TB, server *exec.Cmd, signal os.Signal, exitCode int, address, body, signature, customer string) {
	t.Helper()
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() })
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}, Timeout, 20*time.Millisecond)
	// Send the event last. The receiver handles an event after its answer, and would otherwise write between the log lines of
	// later requests.
	for _, row := range []struct {
		body, header string
		status       int
	}{{body, "", http.StatusBadRequest}, {body + " ", signature, http.StatusBadRequest}, {body, signature, http.StatusNoContent}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/webhooks",
			strings.NewReader(row.body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		if row.header != "" {
			request.Header.Set("Service-Signature", row.header)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, row.status, answer.StatusCode)
	}
	require.NoError(t, server.Process.Signal(signal))
	stuck := time.AfterFunc(Timeout, func() { _ = server.Process.Kill() })
	_ = server.Wait()
	require.True(t, stuck.Stop(), "the receiver does not end: %s", &log)
	require.Equal(t, exitCode, server.ProcessState.ExitCode(), "%s", &log)
	require.NotContains(t, log.String(), "Traceback")
	require.Contains(t, log.String(), "http://"+address)
	require.Contains(t, log.String(), "new: "+customer)
	require.Contains(t, log.String(), "there is no Service-Signature header")
	require.Contains(t, log.String(), "not written as the service writes it")
}
