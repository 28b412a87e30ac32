package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agext/levenshtein"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/admin/rpc"
)

const prefix = "STOREFRONT_"

// maxDistance is how many letters of an unknown variable may differ from the known one that the doctor suggests.
const maxDistance = 3

// Variables looks for variables that have the service's prefix but set nothing. environ has items NAME=VALUE.
func Variables(environ, known []string) Finding {
	return withCheck("variables", variables(environ, known))
}

func variables(environ, known []string) Finding {
	var unknown, meant []string
	set := 0
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, prefix) || value == "" {
			continue
		}
		set++
		if slices.Contains(known, name) {
			continue
		}
		unknown = append(unknown, name)
		if near := nearest(name, known); near != "" {
			meant = append(meant, near)
		}
	}
	if len(unknown) == 0 {
		return ok("%s of the environment, all known", plural(set, "setting"))
	}
	slices.Sort(unknown)
	remedy := "unset what is no setting: `storefront server --help` and `storefront worker --help` list those that are"
	if len(meant) > 0 {
		slices.Sort(meant)
		remedy = "correct the name; perhaps " + strings.Join(slices.Compact(meant), ", ") + " was meant"
	}
	return warn(remedy, "nothing reads %s", strings.Join(unknown, ", "))
}

func nearest(name string, known []string) string {
	best, least := "", maxDistance+1
	for _, k := range known {
		if d := levenshtein.Distance(name, k, nil); d < least {
			best, least = k, d
		}
	}
	return best
}

// Command reports whether `storefront <name>` accepts its settings; err is the refusal, or nil.
func Command(name string, err error) Finding {
	check := name + "-settings"
	if err != nil {
		return withCheck(check, fail("correct it in the environment or in the settings file; see `storefront "+name+" --help`",
			"storefront %s does not start: %s", name, strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
	return withCheck(check, ok("storefront %s accepts its settings", name))
}

// Refused is the finding that err refuses a flag's value.
func Refused(flag string, err error) Finding {
	return withCheck(flag, fail("correct --"+flag+" in the environment or in the settings file", "--%s: %v", flag, err))
}

// AdminToken checks the operator's token; "" means none.
func AdminToken(token string) Finding { return withCheck("admin-token", tokenFinding(token)) }

func tokenFinding(token string) Finding {
	if token == "" {
		return ok("not set: the admin services and the dashboard are off")
	}
	if err := rpc.CheckToken(token); err != nil {
		return fail("make one with `openssl rand -hex 32` and set STOREFRONT_ADMIN_TOKEN to it", "--admin-token %v", err)
	}
	return ok("long enough")
}

const (
	tightBytes = 64 << 20
	// lowBytes is the free space below which the check warns; a larger database needs its own size for a backup.
	lowBytes = 1 << 30
)

// Files checks who can read the database and its key, and how much space is free. The arguments are paths.
func Files(database, key string) []Finding {
	found := []Finding{withCheck("database-file", mode(database)), withCheck("disk", space(database, db.FreeBytes))}
	if _, err := os.Stat(key); err == nil {
		found = append(found, withCheck("key-file", mode(key)))
	}
	return found
}

// mode never warns on Windows, where a file's mode does not show who can use it.
func mode(path string) Finding {
	info, err := os.Stat(path)
	if err != nil {
		return fail("make the file readable for this user", "%v", err)
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && runtime.GOOS != "windows" {
		return warn("chmod 600 "+quoted(path), "%s has mode %#o: other users of this machine can use it", path,
			info.Mode().Perm())
	}
	return ok("%s", path)
}

func quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return strings.ContainsRune(" '\"$&;()<>|*?`\\\t\n", r) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// space checks the disk of the file at path. free returns the free bytes on a folder's disk.
func space(path string, free func(folder string) (uint64, error)) Finding {
	const remedy = "make room on that disk, or move the database to a larger one"
	info, err := os.Stat(path)
	if err != nil {
		return fail("make the file readable for this user", "%v", err)
	}
	folder := filepath.Dir(path)
	available, err := free(folder)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return ok("not looked at on this system")
	case err != nil:
		return warn("see whether the folder's disk is mounted and readable", "the room left in %s is not known: %v", folder, err)
	case available < tightBytes:
		return fail(remedy, "%d MiB left in %s: writes will fail soon", available>>20, folder)
	case available < max(lowBytes, uint64(info.Size())):
		return warn(remedy, "%d MiB left in %s, for a database of %d MiB: a backup may not fit", available>>20, folder,
			info.Size()>>20)
	}
	return ok("%d MiB left in %s", available>>20, folder)
}

const answerTimeout = 10 * time.Second

const maxAnswerBytes = 64 << 10

// Socket errors on Windows, whose numbers differ from those in package syscall.
const (
	wsaAccess       = syscall.Errno(10013)
	wsaAddressInUse = syscall.Errno(10048)
)

// IsTaken reports whether another socket listens on the address.
func IsTaken(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddressInUse)
}

func isForbidden(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, wsaAccess)
}

// Addr checks that the address of the public API is free, or that a server of this service has it.
func Addr(ctx context.Context, addr string) Finding {
	return withCheck("addr", address(ctx, "addr", addr, "/v1/store", func(status int, body []byte) bool {
		// A server of this service answers 401, because the request has no key, or 429.
		var refused struct {
			StatusCode int       `json:"statusCode"`
			Code       string    `json:"code"`
			RequestID  uuid.UUID `json:"requestId"`
		}
		return json.Unmarshal(body, &refused) == nil && refused.StatusCode == status && refused.Code != "" &&
			refused.RequestID != uuid.Nil
	}))
}

// AdminAddr checks that the address of the admin listener is free, or that a healthy server of this service has it.
func AdminAddr(ctx context.Context, addr string) Finding {
	return withCheck("admin-addr", address(ctx, "admin-addr", addr, "/healthz", func(status int, body []byte) bool {
		var health struct{ Status string }
		return status == http.StatusOK && json.Unmarshal(body, &health) == nil && health.Status == "ok"
	}))
}

// address listens on addr for a moment. If something else does, it sends GET path, and isService judges the answer.
func address(ctx context.Context, flag, addr, path string, isService func(status int, body []byte) bool) Finding {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		_ = l.Close()
		return ok("%s is free", addr)
	case isForbidden(err):
		return fail("choose a port from 1024 up with --"+flag+", or give the service CAP_NET_BIND_SERVICE", "%v", err)
	case !IsTaken(err):
		return fail("set --"+flag+" to an address of this machine, such as 127.0.0.1:8081 or :8080", "%v", err)
	}
	status, body, err := ask(ctx, "http://"+Reachable(addr)+path)
	if err == nil && isService(status, body) {
		return ok("%s is taken by a server that runs and answers", addr)
	}
	return fail("stop what holds it, or choose another with --"+flag,
		"%s is taken by something that does not answer as a server of this service", addr)
}

// Reachable returns the address at which programs on this machine connect to a listener on addr.
func Reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func ask(ctx context.Context, target string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	return answer.StatusCode, body, err
}

// NoCheck makes Outbound check nothing, for a machine without outgoing connections.
const NoCheck = "none"

// Outbound sends HEAD / to the https address target, over proxy unless that is nil; any answer is enough. It checks nothing if
// target is "" or NoCheck.
func Outbound(ctx context.Context, target string, proxy *url.URL) Finding {
	return withCheck("outbound-https", outbound(ctx, target, proxy))
}

func outbound(ctx context.Context, target string, proxy *url.URL) Finding {
	const skip = "; on a machine that is to reach nothing outside, skip this with --check-url none"
	if target == NoCheck {
		return ok("skipped")
	}
	if target == "" {
		return warn("name an address that must be reachable with --check-url https://…"+skip,
			"not checked: no address is set to connect to")
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fail("set --check-url to an address such as https://www.example.com", "--check-url is no https address")
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, u.String(), nil)
	if err != nil {
		return fail("set --check-url to an address such as https://www.example.com", "--check-url is no https address")
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	answer, err := transport.RoundTrip(r)
	if err == nil {
		_ = answer.Body.Close()
		return ok("%s answers over a connection that is trusted", u.Host)
	}
	message, remedy := explainUnreached(err)
	return fail(remedy+skip, "%s: %s", u.Host, message)
}

func explainUnreached(err error) (message, remedy string) {
	var (
		name      *net.DNSError
		untrusted *tls.CertificateVerificationError
		noRoots   x509.SystemRootsError
	)
	switch {
	case errors.As(err, &name):
		return "the name cannot be looked up", "is this machine offline? Correct its DNS servers, or --check-url"
	case errors.As(err, &untrusted), errors.As(err, &noRoots):
		return "its certificate is not trusted", "install the system's authorities (the package ca-certificates), or name a file of " +
			"them in SSL_CERT_FILE"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer within " + answerTimeout.String(), "let the firewall pass connections out to port 443, or set --egress-proxy"
	}
	// Show only the inner error: err contains the URL of the proxy, which may have a password.
	if opErr, ok := errors.AsType[*net.OpError](err); ok {
		return lowerCase(opErr.Err.Error()), "let the firewall pass connections out to port 443, or set --egress-proxy"
	}
	return "no TLS connection", "is it an https address? A proxy between may answer in its place"
}

func lowerCase(text string) string { return strings.ToLower(text[:1]) + text[1:] }
