package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// receiver is a listener on loopback that counts its connections and passes each to a function.
type receiver struct {
	net.Listener
	accepts atomic.Int64
	conns   sync.Map
	ended   sync.WaitGroup
}

func listen(t testing.TB, handle func(net.Conn)) *receiver {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &receiver{Listener: listener}
	r.ended.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.accepts.Add(1)
			r.conns.Store(conn, nil)
			r.ended.Go(func() {
				defer r.conns.Delete(conn)
				defer func() { _ = conn.Close() }()
				handle(conn)
			})
		}
	})
	t.Cleanup(r.stop)
	return r
}

// listenTLS gives handle connections after their handshake.
func listenTLS(t testing.TB, config *tls.Config, handle func(net.Conn)) *receiver {
	t.Helper()
	return listen(t, func(conn net.Conn) {
		secure := tls.Server(conn, config)
		if secure.Handshake() == nil {
			handle(secure)
		}
	})
}

func (r *receiver) stop() {
	_ = r.Close()
	r.conns.Range(func(conn, _ any) bool {
		_ = conn.(net.Conn).Close()
		return true
	})
	r.ended.Wait()
}

func (r *receiver) idle() bool {
	idle := true
	r.conns.Range(func(_, _ any) bool {
		idle = false
		return false
	})
	return idle
}

// at returns a URL with this host name and the receiver's port.
func (r *receiver) at(host string) string {
	_, port, _ := net.SplitHostPort(r.Addr().String())
	return "https://" + host + ":" + port + "/webhooks?canary=whsec_canary"
}

func (r *receiver) url() string { return r.at("127.0.0.1") }

type certified struct {
	server *tls.Config
	roots  *x509.CertPool
}

// newCertified makes a certificate for 127.0.0.1 and shop.example.com. change may be nil.
func newCertified(change func(*x509.Certificate)) certified {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "a receiver"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		DNSNames:     []string{"shop.example.com"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:         true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	raw := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	leaf := must(x509.ParseCertificate(raw))
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}}}
	return certified{config, roots}
}

// good is valid now. All tests share it.
var good = sync.OnceValue(func() certified { return newCertified(nil) })

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// newClient trusts the certificate of good() and may connect to loopback addresses. change may be nil.
func newClient(t testing.TB, change func(*Options)) *Client {
	t.Helper()
	options := Options{Policy: lab, RootCAs: good().roots, Timeout: crowded}
	if change != nil {
		change(&options)
	}
	client := New(options)
	t.Cleanup(client.Close)
	return client
}

// answers is a resolver that returns its answers in turn for any name, repeats the last, and records the names.
type answers struct {
	mu    sync.Mutex
	asked []string
	each  [][]netip.Addr
	err   error
}

func answer(each ...[]netip.Addr) *answers { return &answers{each: each} }

func addrs(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func (a *answers) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, host)
	if a.err != nil {
		return nil, a.err
	}
	next := a.each[0]
	if len(a.each) > 1 {
		a.each = a.each[1:]
	}
	return append([]netip.Addr(nil), next...), nil
}

// readRequest reads one request with its body, and returns its head as received.
func readRequest(conn net.Conn) (head, body string) {
	var text strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(text.String(), "\r\n\r\n") {
		if _, err := io.ReadFull(conn, one); err != nil {
			return text.String(), ""
		}
		text.WriteByte(one[0])
	}
	head = text.String()
	length := 0
	for line := range strings.SplitSeq(head, "\r\n") {
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			for _, digit := range value {
				length = length*10 + int(digit-'0')
			}
		}
	}
	rest := make([]byte, length)
	_, _ = io.ReadFull(conn, rest)
	return head, string(rest)
}

// replies answers every request of a connection with the same text.
func replies(text string) func(net.Conn) {
	return func(conn net.Conn) {
		for {
			if head, _ := readRequest(conn); !strings.HasSuffix(head, "\r\n\r\n") {
				return
			}
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

const noContent = "HTTP/1.1 204 No Content\r\n\r\n"

func headers() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Service-Webhooks/1.0"},
		"Service-Signature": {"t=1,v1=whsec_canary"}}
}
