package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// The problems of an attempt, beside "status 500" and "redirect 302": a fixed list, so that they contain no address, URL,
// secret or part of a response, and can be counted.
const (
	ProblemAddress     = "address refused"
	ProblemURL         = "URL not allowed"
	ProblemInterrupted = "interrupted"
	ProblemTimeout     = "timeout"
	ProblemNoName      = "name not found"
	ProblemLookUp      = "name look-up failed"
	ProblemRefused     = "connection refused"
	ProblemReset       = "connection reset"
	ProblemUnreachable = "host unreachable"
	ProblemClosed      = "connection closed without an answer"
	ProblemConnection  = "connection failed"
	ProblemHandshake   = "TLS handshake failed"
	ProblemAuthority   = "certificate not valid: unknown authority"
	ProblemHostname    = "certificate not valid: other host name"
	ProblemExpired     = "certificate not valid: expired or not yet valid"
	ProblemCertificate = "certificate not valid"
	ProblemHeaders     = "response headers too large"
	ProblemAnswer      = "answer is not HTTP"
	ProblemProxy       = "proxy refused"
)

// Windows uses these error numbers; no other system does.
const (
	wsaNetworkUnreachable = syscall.Errno(10051)
	wsaConnectionAborted  = syscall.Errno(10053)
	wsaConnectionReset    = syscall.Errno(10054)
	wsaConnectionRefused  = syscall.Errno(10061)
	wsaHostUnreachable    = syscall.Errno(10065)
)

var errProxyRefused = errors.New("proxy refused")

// statusProblem returns "" for 2xx. Redirects are not followed (specification, Delivery).
func statusProblem(status int) string {
	switch {
	case status >= 200 && status <= 299:
		return ""
	case status >= 300 && status <= 399:
		return "redirect " + strconv.Itoa(status)
	}
	return "status " + strconv.Itoa(status)
}

// problemOf tests the most specific match first: a refused address is also a failed connection, and a reset may end a handshake.
func problemOf(err error) string {
	var (
		refusedURL  *URLError
		timeout     interface{ Timeout() bool }
		name        *net.DNSError
		number      syscall.Errno
		handshake   *handshakeError
		alert       tls.AlertError
		record      tls.RecordHeaderError
		connection  *net.OpError
		certificate = certificateProblem(err)
	)
	switch {
	case errors.As(err, &refusedURL):
		if refusedURL.address {
			return ProblemAddress
		}
		return ProblemURL
	case errors.Is(err, errAddressRefused):
		return ProblemAddress
	case errors.Is(err, context.Canceled):
		return ProblemInterrupted
	case errors.As(err, &timeout) && timeout.Timeout():
		return ProblemTimeout
	case errors.As(err, &name):
		if name.IsNotFound {
			return ProblemNoName
		}
		return ProblemLookUp
	case errors.Is(err, errProxyRefused):
		return ProblemProxy
	case certificate != "":
		return certificate
	case errors.As(err, &number) && systemProblem(number) != "":
		return systemProblem(number)
	case errors.As(err, &handshake), errors.As(err, &alert), errors.As(err, &record):
		return ProblemHandshake
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isText(err, "server closed idle connection"):
		return ProblemClosed
	case errors.As(err, &connection):
		return ProblemConnection
	case isText(err, "server response headers exceeded"):
		return ProblemHeaders
	}
	return ProblemAnswer
}

// isText is for errors of net/http that have no value or type of their own.
func isText(err error, text string) bool { return strings.Contains(err.Error(), text) }

// systemProblem returns "" if the number would not help the owner of a receiver.
func systemProblem(number syscall.Errno) string {
	switch number {
	case syscall.ECONNREFUSED, wsaConnectionRefused:
		return ProblemRefused
	case syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, wsaConnectionReset, wsaConnectionAborted:
		return ProblemReset
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, wsaHostUnreachable, wsaNetworkUnreachable:
		return ProblemUnreachable
	}
	return ""
}

// certificateProblem has texts of its own, because the original errors would repeat names in the certificate.
func certificateProblem(err error) string {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		unnamed   *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &authority):
		return ProblemAuthority
	case errors.As(err, &hostname):
		return ProblemHostname
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ProblemExpired
	case errors.As(err, &invalid), errors.As(err, &unnamed):
		return ProblemCertificate
	}
	return ""
}
