package client

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Option is a setting of New.
type Option func(*settings)

type settings struct {
	httpClient http.Client
	maxRetries int
	timeout    time.Duration
	userAgent  string
	plainHTTP  bool
}

// WithHTTPClient sends requests through a copy of your HTTP client, which follows no redirects. Without it, or with nil,
// http.DefaultTransport is used.
func WithHTTPClient(c *http.Client) Option {
	return func(s *settings) {
		if c != nil {
			s.httpClient = *c
		}
	}
}

// WithMaxRetries sets the maximum number of retries of a request, by default DefaultMaxRetries.
func WithMaxRetries(n int) Option {
	return func(s *settings) { s.maxRetries = n }
}

// WithTimeout sets how long a call may take with its retries and delays, by default DefaultTimeout. It also ends at its
// context's deadline.
func WithTimeout(d time.Duration) Option {
	return func(s *settings) { s.timeout = d }
}

// WithUserAgent puts your program's name, such as crm/1.4, before this package's into User-Agent.
func WithUserAgent(program string) Option {
	return func(s *settings) { s.userAgent = program + " " + agent() }
}

// WithPlainHTTP accepts an http:// base URL of another machine. The key is then sent unencrypted, so use it only in a private
// network, for example between containers of one host.
func WithPlainHTTP() Option {
	return func(s *settings) { s.plainHTTP = true }
}

func (s *settings) check() error {
	switch {
	case s.maxRetries < 0:
		return errors.New("max retries must be 0 or more")
	case s.timeout <= 0:
		return errors.New("the timeout must be more than 0")
	case strings.ContainsFunc(s.userAgent, unicode.IsControl):
		return errors.New("the user agent must be one line of text")
	}
	return nil
}

// address returns the base URL without a slash at its end.
func address(baseURL string, plainHTTP bool) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		// The parser's error quotes the URL, which may contain a password.
		return "", errors.New("is no URL; give one such as https://api.example.com")
	}
	u.Host = strings.ToLower(u.Host) // net/http sends a request to localhost past the proxy of HTTP_PROXY, but not one to LOCALHOST
	path := strings.TrimRight(u.Path, "/")
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "", errors.New("must start with https:// and a host, such as https://api.example.com")
	case u.User != nil:
		return "", errors.New("must hold no user name or password; the API key is given beside it")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("must end before ? and #")
	case path == "/v1" || strings.HasSuffix(path, "/v1"):
		return "", errors.New("must be the address of the service without /v1")
	case u.Scheme == "http" && !plainHTTP && !loopback(u.Hostname()):
		return "", errors.New("must be https, or the key crosses the network readable; where that network is private, use " +
			"WithPlainHTTP")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// keyPrefix begins every API key (specification, Authentication).
const keyPrefix = "svc_live_"

// checkKey makes a wrong setting fail at the start instead of with a later 401. The errors do not quote the text.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("is empty; set it to a key of the store's dashboard, under Settings, Developer, API keys")
	case !strings.HasPrefix(key, keyPrefix):
		return errors.New("does not start with " + keyPrefix)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }):
		return errors.New("holds white space or a character that no key has, such as the end of a line")
	}
	return nil
}
