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

// CheckToken refuses a token that could be guessed, or that a header cannot contain (RFC 6750, section 2.1). The error does not
// show the token.
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

// Gate admits requests of the operator and refuses all others. Goroutines may share it.
type Gate struct {
	// tokens has the SHA-256 of each token. If it is empty, requests from this machine need none.
	tokens [][sha256.Size]byte
}

// NewGate admits token and oldToken, which token replaces; "" means none.
func NewGate(token, oldToken string) *Gate {
	g := &Gate{tokens: [][sha256.Size]byte{sha256.Sum256([]byte(token))}}
	if oldToken != "" {
		g.tokens = append(g.tokens, sha256.Sum256([]byte(oldToken)))
	}
	return g
}

// NewLocalGate is for a loopback address. It admits programs without a token, but no web pages, which it recognises by Origin
// and Sec-Fetch-Site, or by Host if they use DNS rebinding.
func NewLocalGate() *Gate { return &Gate{} }

// HasToken reports whether a request has a token that the gate admits.
func (g *Gate) HasToken(r *http.Request) bool { return !g.isLocal() && g.Admit(r) == nil }

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
	// Schemes are case-insensitive (RFC 9110, section 11.1).
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return apierr.New(apierr.AdminTokenMissing, "The Authorization header is not of the form Bearer <ADMIN_TOKEN>.")
	}
	// Hashes have equal lengths, so the time of the comparison tells nothing about the tokens.
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

// Guard passes the operator's requests to next. It writes a refusal in the request's protocol, or as Connect does.
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

// setHeaders adds the challenge of a 401 (RFC 9110, section 11.6.1) and the Retry-After of a 503.
func setHeaders(h http.Header, r *apierr.Refusal) {
	switch r.Status() {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="Service operator"`)
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
}
