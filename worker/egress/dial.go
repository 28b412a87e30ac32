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

// errAddressRefused ends an attempt whose target may not be connected to. It holds no address: what
// a name leads to inside the operator's network is nobody's business.
var errAddressRefused = errors.New("address refused")

// maxAddresses bounds how many addresses of one name are tried, so that a name with thousands of
// them is no way to make this machine knock on thousands of doors.
const maxAddresses = 8

// Resolver looks names up; *net.Resolver is one.
type Resolver interface {
	// LookupNetIP returns the addresses of a host; network is "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dialer makes connections to checked addresses only.
type dialer struct {
	policy   Policy
	resolver Resolver
	tls      *tls.Config
	timeout  time.Duration
}

type deadlineKey struct{}

// withDeadline puts the attempt's deadline where dialling finds it: http.Transport detaches the
// context of a connection from that of its request and keeps the values only.
func withDeadline(ctx context.Context, deadline time.Time) context.Context {
	return context.WithValue(ctx, deadlineKey{}, deadline)
}

// bound gives a detached context the attempt's deadline back.
func (d *dialer) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, found := ctx.Value(deadlineKey{}).(time.Time)
	if !found {
		deadline = time.Now().Add(d.timeout)
	}
	return context.WithDeadline(ctx, deadline)
}

// dial connects to the first address of a host that answers. Every address is checked before the
// first connection, and one refused address refuses them all: a name that leads both to a public
// host and inside is made to deceive.
func (d *dialer) dial(ctx context.Context, network, target string) (net.Conn, error) {
	ctx, cancel := d.bound(ctx)
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
		// A resolver may return an IPv4 address in IPv6's form; the system connects to the former.
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

// dialOne connects to one address within its share of what is left of the deadline.
func (d *dialer) dialOne(ctx context.Context, network string, target netip.AddrPort, left int) (net.Conn, error) {
	end, _ := ctx.Deadline() // bound has set one
	ctx, cancel := context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
	defer cancel()
	one := net.Dialer{Control: d.policy.control}
	return one.DialContext(ctx, network, target.String())
}

// lookUp returns the addresses of a host, at least one.
func (d *dialer) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if !d.policy.AllowPrivate {
		// The dot keeps the machine's search list out of it, which would turn a public name into
		// an internal one, and costs several look-ups a name in some clusters.
		host += "."
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no addresses", IsNotFound: true}
	}
	return addrs, err
}

// handshakeError is whatever went wrong between the connection and the end of the TLS handshake.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// dialTLS connects and shakes hands, both within the attempt's deadline.
func (d *dialer) dialTLS(ctx context.Context, network, target string) (net.Conn, error) {
	ctx, cancel := d.bound(ctx)
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
