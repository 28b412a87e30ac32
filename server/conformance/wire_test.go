package conformance_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

var update = flag.Bool("update", false, "rewrite the files in testdata/wire")

const wireFolder = "testdata/wire"

// exchange is a request under /v1 whose bytes, and whose answer's bytes, are in a file of testdata/wire. It is the first of a
// new key in a new store, and the clock stands still.
type exchange struct {
	name string
	// prepare creates the data and returns the request: its request line without the protocol, its body, and its headers
	// besides the key.
	prepare func(b *bench) request
	// service starts a service for this exchange; nil means a shared one.
	service func(t *testing.T, database string) *installation
	// database is the only database of the exchange; empty means all.
	database string
}

type request struct {
	line    string
	headers []string
	body    string
}

// TestWire compares every exchange with its file, whose form is:
//
//	the request line, the headers, an empty line, the body
//	an empty line
//	the status line, the headers in the order of the alphabet, an empty line, the body
//
// Placeholders in angle brackets replace values that differ from run to run: <key>, <date>, <request-id>, and <id-1>,
// <reference-1>, <code-1>, which are numbered as they appear in the file. All other bytes are as they were sent, so both
// databases have the same file. Content-Length is the length of the body before its values were replaced.
func TestWire(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			shared := newService(t, database, settings{})
			for _, x := range exchanges() {
				if x.database != "" && x.database != database {
					continue
				}
				t.Run(x.name, func(t *testing.T) {
					s := shared
					if x.service != nil {
						s = x.service(t, database)
					}
					b := s.newBenchAt(t, restProtocol{}, strings.ReplaceAll(x.name, "_", "-"))
					got := b.exchange(x.prepare(b))
					path := filepath.Join(wireFolder, x.name+".golden")
					if *update && (database == dbtest.SQLite || x.database != "") {
						require.NoError(t, os.WriteFile(path, []byte(got), 0o644)) //nolint:gosec // the mode of the files that git creates
					}
					want, err := os.ReadFile(path)
					require.NoError(t, err)
					require.Equal(t, string(want), got)
				})
			}
		})
	}
	for _, x := range exchanges() {
		require.False(t, names[x.name], "%s stands once", x.name)
		names[x.name] = true
	}
	for _, code := range publicCodes {
		require.True(t, names[code] || names[code+"-body"], "no exchange is refused with %s", code)
	}
	files, err := filepath.Glob(filepath.Join(wireFolder, "*"))
	require.NoError(t, err)
	for _, file := range files {
		require.True(t, names[strings.TrimSuffix(filepath.Base(file), ".golden")], "%s belongs to no exchange", file)
	}
}

// publicCodes are the codes of the specification, and those that were added.
var publicCodes = []string{
	"validation_failed", "compare_at_invalid", "phone_invalid", "customer_identifier_required", "payment_link_expiry_invalid",
	"api_key_missing", "api_key_invalid", "api_key_revoked", "api_key_expired", "insufficient_scope", "store_unavailable",
	"product_not_found", "order_not_found", "customer_not_found", "payment_link_not_found", "customer_conflict",
	"product_incomplete", "product_type_unavailable", "feature_disabled", "payment_link_invalid_pricing", "payment_link_expiry_past",
	"rate_limited", "not_found", "method_not_allowed", "payload_too_large",
	"unsupported_media_type", "internal_error", "unavailable",
}

var (
	ids        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	references = regexp.MustCompile(`ORD-[0-9A-Z]{10}`)
	linkCodes  = regexp.MustCompile(`"code":"([0-9a-z]{10})"`)
	requestIDs = regexp.MustCompile(`(?m)^X-Request-Id: (.*)$`)
	dates      = regexp.MustCompile(`(?m)^Date: .*$`)
)

// exchange uses a new connection, and returns request and answer byte for byte.
func (b *bench) exchange(r request) string {
	b.Helper()
	headers := slices.Clone(r.headers)
	if b.key != "" {
		headers = append(headers, "Authorization: Bearer "+b.key)
	}
	if r.body != "" && !slices.ContainsFunc(headers, func(h string) bool { return strings.HasPrefix(h, "Content-Length:") }) {
		headers = append(headers, fmt.Sprintf("Content-Length: %d", len(r.body)))
	}
	slices.Sort(headers)
	connection, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	require.NoError(b, err)
	defer connection.Close()
	require.NoError(b, connection.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\nX-Forwarded-For: %s\r\n%s\r\n\r\n%s",
		r.line, b.address, strings.Join(headers, "\r\n"), r.body)
	require.NoError(b, err)
	answer, err := io.ReadAll(connection)
	require.NoError(b, err)
	b.documented(r, answer)
	head, body, found := bytes.Cut(answer, []byte("\r\n\r\n"))
	require.True(b, found, "%s", answer)
	lines := strings.Split(string(head), "\r\n")
	slices.Sort(lines[1:])

	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n\n", r.line, strings.Join(headers, "\n"))
	if r.body != "" {
		fmt.Fprintf(&text, "%s\n\n", r.body)
	}
	fmt.Fprintf(&text, "%s\n\n", strings.Join(lines, "\n"))
	if len(body) > 0 {
		fmt.Fprintf(&text, "%s\n", body)
	}
	return named(text.String(), b.key)
}

// named replaces values that differ from run to run by placeholders.
func named(text, key string) string {
	if key != "" {
		text = strings.ReplaceAll(text, key, "<key>")
	}
	if id := requestIDs.FindStringSubmatch(text); id != nil {
		text = strings.ReplaceAll(text, id[1], "<request-id>")
	}
	text = dates.ReplaceAllString(text, "Date: <date>")
	for _, kind := range []struct {
		name string
		form *regexp.Regexp
	}{{"id", ids}, {"reference", references}, {"code", linkCodes}} {
		var seen []string
		for _, match := range kind.form.FindAllStringSubmatch(text, -1) {
			if value := match[len(match)-1]; !slices.Contains(seen, value) {
				seen = append(seen, value)
			}
		}
		for i, value := range seen {
			text = strings.ReplaceAll(text, value, fmt.Sprintf("<%s-%d>", kind.name, i+1))
		}
	}
	return text
}
