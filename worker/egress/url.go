package egress

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxURLBytes is the longest allowed URL of a webhook.
const MaxURLBytes = 2048

// Policy allows receivers besides those of the specification: https, and no private or local address.
type Policy struct {
	// AllowPrivate allows loopback, private, carrier-shared and unique local addresses and local names, for tests and
	// development. Those of clouds and routers stay refused.
	AllowPrivate bool
	// AllowHTTP allows plain http besides https.
	AllowHTTP bool
}

// URLError explains to the person who registers a webhook what is wrong with the URL. It never repeats the URL, which may
// contain a password.
type URLError struct {
	// Reason completes a sentence that starts with "URL", as in "must start with https://".
	Reason string
	// address is true if the host is refused, and not another part of the URL.
	address bool
}

// Error returns Reason.
func (e *URLError) Error() string { return e.Reason }

var (
	errURLLength    = &URLError{Reason: "must have 1 to 2048 bytes"}
	errURLCharacter = &URLError{Reason: "must not contain spaces, control characters or backslashes"}
	errURLScheme    = &URLError{Reason: "must start with https://"}
	errURLPrivate   = &URLError{Reason: "must start with https://, also at a private address: over plain http anybody on the way could read and change events"}
	errURLSchemes   = &URLError{Reason: "must start with https:// or http://"}
	errURLUser      = &URLError{Reason: "must not contain a user name or a password"}
	errURLFragment  = &URLError{Reason: "must not contain a # part, which is never sent"}
	errURLInvalid   = &URLError{Reason: "must be a URL such as https://shop.example.com/webhooks"}
	errURLPort      = &URLError{Reason: "must have a port from 1 to 65535, or none"}
	errURLHost      = &URLError{Reason: "must contain the name of a host, such as shop.example.com"}
	errURLIPv4      = &URLError{Reason: "must write an IPv4 address as four decimal numbers", address: true}
	errURLIPv6      = &URLError{Reason: "must write an IPv6 address in brackets and without a zone", address: true}
	errURLAddress   = &URLError{Reason: "must not lead to a private, local or reserved address", address: true}
	errURLLocal     = &URLError{Reason: "must not lead to a local name", address: true}
	errURLSingle    = &URLError{Reason: "must contain the full name of a host, such as shop.example.com", address: true}
)

// EscapeURL percent-encodes characters of path and query that no URL may have, such as letters beyond ASCII and |. CheckURL
// reads hosts of every script.
func EscapeURL(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	at := strings.IndexAny(rest, "/?#")
	if at < 0 {
		return text
	}
	at += len(scheme) + len("://")
	var b strings.Builder
	b.WriteString(text[:at])
	for _, c := range []byte(text[at:]) {
		if c >= utf8.RuneSelf || strings.IndexByte("\"<>^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// CheckURL reads only the text, because the addresses of a name may change: they are checked at each connection. Any text that
// a resolver or a library might read as an address counts as one. Its errors are *URLError.
func CheckURL(text string, p Policy) error {
	_, err := p.parse(text)
	if err != nil {
		return err
	}
	return nil
}

// parse returns the URL with the host in the one form that is resolved, dialled and sent, so that the client uses the host that
// was checked.
func (p Policy) parse(text string) (*url.URL, *URLError) {
	if text == "" || len(text) > MaxURLBytes {
		return nil, errURLLength
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, mistakable) {
		return nil, errURLCharacter
	}
	scheme, rest, found := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	switch {
	case found && scheme == "https", found && scheme == "http" && p.AllowHTTP:
	case p.AllowHTTP:
		return nil, errURLSchemes
	case p.AllowPrivate:
		return nil, errURLPrivate
	default:
		return nil, errURLScheme
	}
	if strings.Contains(rest, "#") {
		return nil, errURLFragment
	}
	authority, _, _ := strings.Cut(rest, "/")
	authority, _, _ = strings.Cut(authority, "?")
	if strings.Contains(authority, "@") {
		return nil, errURLUser
	}
	if strings.Contains(authority, "%") {
		// No public host needs a % in its name or a zone in its address, and libraries read a % in different ways.
		if strings.HasPrefix(authority, "[") {
			return nil, errURLIPv6
		}
		return nil, errURLHost
	}
	u, err := url.Parse(EscapeURL(text))
	if err != nil {
		return nil, parseError(authority)
	}
	host, refusal := p.host(u)
	if refusal != nil {
		return nil, refusal
	}
	port, refusal := port(u)
	if refusal != nil {
		return nil, refusal
	}
	switch {
	case port != "":
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	u.Scheme, u.Host = scheme, host
	return u, nil
}

// mistakable reports whether libraries read a URL with r differently: some remove r, or take a backslash for a slash. Soft
// hyphens and similar characters (Cf) are invisible.
func mistakable(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\\'
}

// parseError replaces net/url's own error, which would repeat the URL.
func parseError(authority string) *URLError {
	if strings.HasPrefix(authority, "[") || strings.Count(authority, ":") > 1 {
		return errURLIPv6
	}
	if _, port, found := strings.Cut(authority, ":"); found && strings.Trim(port, "0123456789") != "" {
		return errURLPort
	}
	return errURLInvalid
}

// port returns "" for none or the scheme's default.
func port(u *url.URL) (string, *URLError) {
	text := u.Port()
	if text == "" {
		return "", nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", errURLPort
	}
	if u.Scheme == "https" && number == 443 || u.Scheme == "http" && number == 80 {
		return "", nil
	}
	return strconv.FormatUint(number, 10), nil
}

// idnaProfile maps letters, digits and dots of every script (UTS 46), so that full-width or circled digits become the IP
// address that they look like. isDNSName makes the final check, also of underscores.
var idnaProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// host returns a name in lower-case ASCII without a trailing dot, or an address without brackets.
func (p Policy) host(u *url.URL) (string, *URLError) {
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", errURLIPv6
		}
		if p.refused(addr) {
			return "", errURLAddress
		}
		return addr.String(), nil
	}
	if strings.Contains(u.Hostname(), ":") {
		return "", errURLIPv6
	}
	name, err := idnaProfile.ToASCII(u.Hostname())
	name = strings.TrimSuffix(name, ".")
	if err != nil || !isDNSName(name) {
		return "", errURLHost
	}
	// The last label of a public DNS name is never a number. So libraries read 127.1, 0x7f.1, 0177.0.0.1 and 2130706433 as
	// addresses (WHATWG URL, section 3.5).
	if last := name[strings.LastIndexByte(name, '.')+1:]; isNumeric(last) {
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return "", errURLIPv4
		}
		if p.refused(addr) {
			return "", errURLAddress
		}
		return addr.String(), nil
	}
	if p.AllowPrivate {
		return name, nil
	}
	for _, local := range localNames {
		if name == local || strings.HasSuffix(name, "."+local) {
			return "", errURLLocal
		}
	}
	// A name of one label is resolved by the hosts file or search list, never by the public DNS, and gets no public certificate.
	if !strings.Contains(name, ".") {
		return "", errURLSingle
	}
	return name, nil
}

// localNames never leave a machine or a network: RFC 6761, RFC 6762, ICANN's reservation of internal (2024), RFC 8375, and the
// names that hosts files give loopback.
var localNames = []string{"localhost", "local", "internal", "home.arpa", "localdomain"}

// isDNSName requires lower case: labels of 1 to 63 letters, digits, inner hyphens and underscores, 253 characters in all (RFC
// 1035).
func isDNSName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// isNumeric reports whether a label is a decimal, octal or hexadecimal number.
func isNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
