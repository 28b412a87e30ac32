package conformance_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/seal"
	"go.storefront.example/server/conformance/devtest"
	"go.storefront.example/server/webhooks"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

type arrival struct {
	header http.Header
	host   string
	length int64
	body   []byte
}

// receiver is an owner's server, at an https address on this machine.
type receiver struct {
	*httptest.Server
	arrivals chan arrival
	// answers are the statuses of the next answers; without one the receiver answers 204.
	answers chan int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{arrivals: make(chan arrival, 100), answers: make(chan int, 10)}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		r.arrivals <- arrival{request.Header.Clone(), request.Host, request.ContentLength, body}
		status := http.StatusNoContent
		select {
		case status = <-r.answers:
		default:
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) next(t *testing.T) arrival {
	t.Helper()
	select {
	case got := <-r.arrivals:
		return got
	case <-time.After(startTimeout):
		require.FailNow(t, "nothing arrives")
		return arrival{}
	}
}

// buildOther compiles a different binary, to show that an output does not depend on it; the first one, unless heavy tests run.
func buildOther(t *testing.T) string {
	t.Helper()
	if !need.Required() {
		return devtest.Build(t).File
	}
	binary := filepath.Join(t.TempDir(), "storefront")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	command := exec.Command("go", "build", "-ldflags=-s -w -X main.version=other", "-o", binary, "./cmd/storefront")
	command.Dir = filepath.Join("..", "..")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// Server and worker run from two binaries. The data of each delivered event has the bytes of GET's answer.
func TestDelivery(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the receiver's certificate reaches the worker in SSL_CERT_FILE, which this system does not read")
	}
	other := buildOther(t)
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			address := dbtest.URL(t, database)
			b := openBench(t, address)
			b.url = startServer(t, address).url
			r := newReceiver(t)
			secretKey := seal.NewKey()
			secret := b.register(secretKey, r.URL+"/hooks?from=storefront")
			startWorker(t, other, address, secretKey, r)
			operate := func(args ...string) object {
				t.Helper()
				command := exec.Command(other, append(args, "-o", "json", "--database-url", address)...)
				var errs bytes.Buffer
				command.Stderr = &errs
				out, err := command.Output()
				require.NoError(t, err, errs.String())
				return decodedObject(b, out)
			}

			guide := operate("product", "create", "--store", b.store.Slug, "--title", "Guide <2> & é", "--type", "FILE",
				"--price", "1500", "--description", "<2> & \u2028 é", "--content-ready", "--status", "PUBLISHED")["id"].(string)
			b.arrives(r, secret, "product.published", "/v1/products/"+guide)
			b.call(&updateProduct{Id: guide, Status: archived})
			b.arrives(r, secret, "product.archived", "/v1/products/"+guide)
			ada := b.call(&createCustomer{Name: "Ada", Email: new("ada@example.com")})["id"].(string)
			b.arrives(r, secret, "customer.created", "/v1/customers/"+ada)
			order := func() string {
				return operate("order", "create", "--store", b.store.Slug, "--customer", ada, "--product", guide+":2")["id"].(string)
			}
			paid := order()
			operate("order", "pay", paid)
			b.arrives(r, secret, "order.paid", "/v1/orders/"+paid)
			failed := order()
			operate("order", "fail", failed)
			b.arrives(r, secret, "order.failed", "/v1/orders/"+failed)
			for _, note := range [][]string{nil, {"--note", "Merci !"}} {
				linked := operate(append([]string{"order", "create", "--store", b.store.Slug, "--customer", ada, "--payment-link",
					b.link("Atelier")}, note...)...)["id"].(string)
				operate("order", "pay", linked)
				first, second := r.next(t), r.next(t)
				if first.header.Get(signature.EventTypeHeader) != "order.paid" {
					first, second = second, first
				}
				delivery := b.delivered(first, secret, "order.paid", 1, "/v1/orders/"+linked)
				two := b.delivered(second, secret, "payment_link.paid", 1, "/v1/orders/"+linked)
				require.NotEqual(t, delivery, two, "two events")
			}

			// A redirect or an error status is a failure, and a later attempt sends the event again.
			r.answers <- http.StatusFound
			r.answers <- http.StatusInternalServerError
			r.answers <- http.StatusOK
			bo := b.call(&createCustomer{Name: "Bo", Email: new("bo@example.com")})["id"].(string)
			event := b.delivered(r.next(t), secret, "customer.created", 1, "/v1/customers/"+bo)
			for attempt := 2; attempt <= 3; attempt++ {
				require.Equal(t, event, b.delivered(r.next(t), secret, "customer.created", attempt, "/v1/customers/"+bo))
			}

			hook, err := b.installation.db.Client().Webhook.Query().OnlyID(b.ctx)
			require.NoError(t, err)
			operate("webhook", "ping", hook.String())
			ping := r.next(t)
			require.Equal(t, "ping", ping.header.Get(signature.EventTypeHeader))
			require.NoError(t, noted(document().Delivery(ping.header, ping.body)))
		})
	}
}

func (b *bench) register(secretKey, url string) string {
	key, err := seal.ParseKey(secretKey)
	require.NoError(b, err)
	registry := webhooks.New(b.installation.db, webhooks.Options{Secrets: seal.NewKeyring(key),
		Targets: egress.Policy{AllowPrivate: true}})
	made, err := registry.CreateWebhook(b.ctx, webhooks.Registration{URL: url})
	require.NoError(b, err)
	return made.Secret
}

func startWorker(t *testing.T, binary, database, secretKey string, r *receiver) {
	t.Helper()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	require.NoError(t, os.WriteFile(roots, certificate, 0o600))
	command := exec.Command(binary, "worker", "--database-url", database, "--allow-private-targets", "--retry-delays", "10ms,10ms")
	command.Env = append(os.Environ(), "SSL_CERT_FILE="+roots, "STOREFRONT_SECRET_KEY="+secretKey)
	logs, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	go func() { _, _ = io.Copy(io.Discard, logs) }()
}

func (b *bench) arrives(r *receiver, secret, kind, target string) {
	b.Helper()
	b.delivered(r.next(b.T), secret, kind, 1, target)
}

// b.delivered checks a delivery against the specification, and its data against GET. It returns the event's id.
func (b *bench) delivered(got arrival, secret, kind string, attempt int, target string) string {
	b.Helper()
	require.NoError(b, noted(document().Delivery(got.header, got.body)))
	var envelope struct {
		ID, Type, CreatedAt string
		Store               struct{ ID, Slug string }
		Data                json.RawMessage
	}
	require.NoError(b, json.Unmarshal(got.body, &envelope))
	require.Equal(b, kind, envelope.Type)
	require.Equal(b, b.store.ID.String(), envelope.Store.ID)
	require.Equal(b, b.store.Slug, envelope.Store.Slug)
	b.moment(envelope.CreatedAt)
	require.Equal(b, string(b.get(target)), string(envelope.Data))
	require.Equal(b, `{"id":"`+envelope.ID+`","type":"`+kind+`","createdAt":"`+envelope.CreatedAt+`","store":{"id":"`+
		envelope.Store.ID+
		`","slug":"`+envelope.Store.Slug+`"},"data":`+string(envelope.Data)+`}`, string(got.body))

	signed := got.header.Get("Service-Signature")
	require.Equal(b, map[string][]string{
		"Content-Type":             {"application/json"},
		"User-Agent":               {"Service-Webhooks/1.0"},
		"Service-Signature":        {signed},
		"Service-Event-Id":         {envelope.ID},
		"Service-Event-Type":       {kind},
		"Service-Delivery-Attempt": {string(rune('0' + attempt))},
		"Content-Length":           got.header["Content-Length"],
	}, map[string][]string(got.header), "these headers and no others: %v", slices.Sorted(maps.Keys(got.header)))
	require.EqualValues(b, len(got.body), got.length)
	require.NoError(b, signature.Verify(signed, got.body, secret, time.Now(), signature.Tolerance))
	require.Error(b, signature.Verify(signed, append(got.body, ' '), secret, time.Now(), signature.Tolerance))
	encoded, found := strings.CutPrefix(secret, "whsec_")
	require.True(b, found)
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	require.NoError(b, err)
	require.Len(b, raw, 32)
	_, err = uuid.Parse(envelope.ID)
	require.NoError(b, err)
	return envelope.ID
}
