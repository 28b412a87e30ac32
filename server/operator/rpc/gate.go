package rpc

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"go.storefront.example/server/apierr"
)

// MinTokenBytes is the length of the shortest operator's token.
const MinTokenBytes = 32

// CheckToken refuses a token that is too short to be safe from guessing, or that does not travel in
// a header as it is (RFC 6750, section 2.1). The error does not show it.
func CheckToken(token string) error {
	if len(token) < MinTokenBytes {
		return fmt.Errorf("must have at least %d characters, not %d", MinTokenBytes, len(token))
	}
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("must be printable ASCII characters without spaces")
		}
	}
	return nil
}

// Gate lets the operator in, and nobody else. Goroutines may share it.
type Gate struct {
	// token is the SHA-256 of the token; without one the gate is for this machine only.
	token [sha256.Size]byte
	local bool
}

// NewGate returns the gate that opens to the token.
func NewGate(token string) *Gate { return &Gate{token: sha256.Sum256([]byte(token))} }

// NewLocalGate returns the gate that opens without a token to programs on this machine, for a
// listener on a loopback address. Pages in a browser on this machine are kept out: those of another
// origin by the headers that browsers send, those whose name was made to point here by that name.
func NewLocalGate() *Gate { return &Gate{local: true} }

// Admit refuses with admin_token_missing, admin_token_invalid or, at a local gate, origin_refused.
func (g *Gate) Admit(r *http.Request) error {
	if g.local {
		return admitLocal(r)
	}
	authorization := r.Header["Authorization"]
	if len(authorization) != 1 {
		return apierr.New(apierr.AdminTokenMissing, "Send the operator's token in one header Authorization: Bearer <ADMIN_TOKEN>.")
	}
	scheme, token, _ := strings.Cut(authorization[0], " ")
	token = strings.Trim(token, " ")
	// Schemes have no case (RFC 9110, section 11.1).
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return apierr.New(apierr.AdminTokenMissing, "The Authorization header is not of the form Bearer <ADMIN_TOKEN>.")
	}
	// Hashes have one length, so that the time reveals nothing of either text.
	sent := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sent[:], g.token[:]) != 1 {
		return apierr.New(apierr.AdminTokenInvalid, "The token is not the operator's.")
	}
	return nil
}

func admitLocal(r *http.Request) error {
	for _, header := range []string{"Origin", "Sec-Fetch-Site"} {
		if len(r.Header[header]) > 0 {
			return apierr.New(apierr.OriginRefused, "Without an operator's token, no page in a browser is answered.")
		}
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback() {
		return nil
	}
	return apierr.New(apierr.OriginRefused, "Without an operator's token, only requests to localhost or a loopback address are answered.")
}

// Guard puts the gate before a handler. What it refuses it answers in the protocol of the request,
// and as Connect does where there is none.
func (g *Gate) Guard(next http.Handler) http.Handler {
	errors := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := g.Admit(r)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		refused := apierr.Of(err, func(error) bool { return false })
		id := uuid.NewString()
		w.Header().Set("X-Request-Id", id)
		challenge(w, refused)
		_ = errors.Write(w, r, refused.Connect(id, time.Now()))
	})
}

// challenge adds to a 401 what it asks for (RFC 9110, section 11.6.1).
func challenge(w http.ResponseWriter, r *apierr.Refusal) {
	if r.Status() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="Service operator"`)
	}
}
