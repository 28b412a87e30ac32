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
	// tokens are the SHA-256 of each; without any the gate is for this machine only.
	tokens [][sha256.Size]byte
}

// NewGate returns the gate that opens to a token and, while one takes the place of another, to the older one too. An
// empty older token is none.
func NewGate(token, older string) *Gate {
	g := &Gate{tokens: [][sha256.Size]byte{sha256.Sum256([]byte(token))}}
	if older != "" {
		g.tokens = append(g.tokens, sha256.Sum256([]byte(older)))
	}
	return g
}

// NewLocalGate returns the gate that opens without a token to programs on this machine, for a
// listener on a loopback address. Pages in a browser on this machine are kept out: those of another
// origin by the headers that browsers send, those whose name was made to point here by that name.
func NewLocalGate() *Gate { return &Gate{} }

func (g *Gate) isLocal() bool { return len(g.tokens) == 0 }

// Admit refuses with admin_token_missing, admin_token_invalid or, at a local gate, origin_refused.
func (g *Gate) Admit(r *http.Request) error {
	if g.isLocal() {
		return admitLocal(r)
	}
	authorization := r.Header["Authorization"]
	if len(authorization) != 1 {
		return apierr.New(apierr.AdminTokenMissing, "Send the operator's token in one header Authorization: Bearer <ADMIN_TOKEN>; "+
			"commands take it from --admin-token or STOREFRONT_ADMIN_TOKEN.")
	}
	scheme, token, _ := strings.Cut(authorization[0], " ")
	token = strings.Trim(token, " ")
	// Schemes have no case (RFC 9110, section 11.1).
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return apierr.New(apierr.AdminTokenMissing, "The Authorization header is not of the form Bearer <ADMIN_TOKEN>.")
	}
	// Hashes have one length, so that the time reveals nothing of either text.
	sent := sha256.Sum256([]byte(token))
	for _, known := range g.tokens {
		if subtle.ConstantTimeCompare(sent[:], known[:]) == 1 {
			return nil
		}
	}
	return apierr.New(apierr.AdminTokenInvalid, "The token is not the operator's.")
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
	return apierr.New(apierr.OriginRefused, "Without an operator's token, only requests to localhost or a loopback address are "+
		"answered.")
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
		refused := apierr.FromError(err, func(error) bool { return false })
		id := uuid.NewString()
		w.Header().Set("X-Request-Id", id)
		setHeaders(w.Header(), refused)
		_ = errors.Write(w, r, refused.Connect(id, time.Now()))
	})
}

// setHeaders adds what a 401 asks for (RFC 9110, section 11.6.1), and after how many seconds a 503 may be repeated.
func setHeaders(h http.Header, r *apierr.Refusal) {
	switch r.Status() {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="Service operator"`)
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
}
