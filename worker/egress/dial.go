package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// errAddressRefused contains no address: a webhook's owner must not learn those in the operator's network.
var errAddressRefused = errors.New("address refused")

// maxAddresses keeps a name with thousands of addresses from using this machine as a scanner.
const maxAddresses = 8

// Resolver looks up host names, such as a *net.Resolver.
type Resolver interface {
	// LookupNetIP returns the addresses of a host; network is "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

type dialer struct {
	policy   Policy
	resolver Resolver
	tls      *tls.Config
}

type deadlineKey struct{}

// withDeadline stores the attempt's deadline as a value, because http.Transport dials with the request's values, but not its
// deadline.
func withDeadline(ctx context.Context, deadline time.Time) context.Context {
	return context.WithValue(ctx, deadlineKey{}, deadline)
}

func withStoredDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, _ := ctx.Value(deadlineKey{}).(time.Time) // set by send
	return context.WithDeadline(ctx, deadline)
}

// dial connects to the first address that answers, after it has checked all. If one is refused, it connects to none, because a
// name with a public and an internal address is an attack.
func (d *dialer) dial(ctx context.Context, network, target string) (net.Conn, error) {
	ctx, cancel := withStoredDeadline(ctx)
	defer cancel()
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	addrs, err := d.lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	for i, addr := range addrs {
		// A resolver may return an IPv4 address in IPv6 form, and the system connects to the IPv4 address.
		addrs[i] = addr.Unmap()
		if d.policy.refused(addrs[i]) {
			return nil, errAddressRefused
		}
	}
	addrs = addrs[:min(len(addrs), maxAddresses)]
	var first error
	for i, addr := range addrs {
		conn, err := d.dialOne(ctx, network, netip.AddrPortFrom(addr, uint16(number)), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// dialOne gets an equal part of the remaining time. remaining counts the untried addresses, with this one.
func (d *dialer) dialOne(ctx context.Context, network string, target netip.AddrPort, remaining int) (net.Conn, error) {
	end, _ := ctx.Deadline() // withStoredDeadline has set the deadline
	ctx, cancel := context.WithTimeout(ctx, time.Until(end)/time.Duration(remaining))
	defer cancel()
	netDialer := net.Dialer{Control: d.policy.control}
	return netDialer.DialContext(ctx, network, target.String())
}

func (d *dialer) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if !d.policy.AllowPrivate {
		// The dot disables the machine's search list, which could turn a public name into an internal one and costs several
		// look-ups a name in some clusters.
		host += "."
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no addresses", IsNotFound: true}
	}
	return addrs, err
}

type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

func (d *dialer) dialTLS(ctx context.Context, network, target string) (net.Conn, error) {
	ctx, cancel := withStoredDeadline(ctx)
	defer cancel()
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	tcp, err := d.dial(ctx, network, target)
	if err != nil {
		return nil, err
	}
	config := d.tls.Clone()
	config.ServerName = host
	conn := tls.Client(tcp, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = tcp.Close()
		return nil, &handshakeError{err}
	}
	return conn, nil
}
