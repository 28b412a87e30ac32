package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheOperatorsSideIsOnWithATokenOrOnThisMachineAlone(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-operator-for-tests"
	for name, row := range map[string]struct {
		token   string
		open    bool
		address string
		want    bool
	}{
		"a token":                             {token, false, "0.0.0.0", true},
		"a token wins over being open":        {token, true, "127.0.0.1", true},
		"neither":                             {"", false, "127.0.0.1", false},
		"open on loopback":                    {"", true, "127.0.0.1", true},
		"open on IPv6's loopback":             {"", true, "::1", true},
		"open where others reach it":          {"", true, "192.168.1.2", false},
		"open on every address":               {"", true, "0.0.0.0", false},
		"open on every address, IPv6's too":   {"", true, "::", false},
		"open on a loopback address mapped":   {"", true, "::ffff:127.0.0.1", true},
		"open on an address mapped, no doubt": {"", true, "::ffff:192.168.1.2", false},
	} {
		gate := newOperatorGate(Config{AdminToken: row.token, AdminOpen: row.open}, &net.TCPAddr{IP: net.ParseIP(row.address),
			Port: 8081})
		require.Equal(t, row.want, gate != nil, name)
	}
	require.Nil(t, newOperatorGate(Config{AdminOpen: true}, &net.UnixAddr{Name: "/tmp/s"}),
		"what is no address of this machine is not taken for one")
}

func TestTheOperatorsTokenBeforeIsTakenToo(t *testing.T) {
	t.Parallel()
	const token, older = "a-token-of-the-operator-for-tests", "the-token-that-was-there-before-it"
	gate := newOperatorGate(Config{AdminToken: token, OldAdminToken: older}, &net.TCPAddr{})
	for _, sent := range []string{token, older} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Authorization", "Bearer "+sent)
		require.NoError(t, gate.Admit(r))
	}
}
