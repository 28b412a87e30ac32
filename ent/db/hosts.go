package db

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/lib/pq"
)

// hostsInQuery moves several hosts (postgres://a:1,b:2/name) into the query (postgres:///name?host=a,b&port=1,2), because
// lib/pq reads them only there. A missing port is 5432, or that in ?port= if all are missing. The error, ErrURL, quotes
// nothing, because an unencoded password may be parsed as any part.
//
// Source of the form: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
func hostsInQuery(text string) (string, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@') + 1
	if !strings.Contains(authority[at:], ",") {
		return text, nil
	}
	path, query, _ := strings.Cut(rest[len(authority):], "?")
	if strings.Contains(path+query, "@") && at == 0 || strings.Contains(path+query, "#") {
		return "", wrongURL("a /, ? or # in the user or the password must be percent-encoded: %2F, %3F or %23")
	}
	var hosts, ports []string
	anyPort := false
	for i, hostPort := range strings.Split(authority[at:], ",") {
		host, port, err := splitHost(hostPort)
		if err != nil {
			return "", wrongURL(fmt.Sprintf("host %d %v", i+1, err))
		}
		anyPort = anyPort || port != ""
		hosts, ports = append(hosts, host), append(ports, cmp.Or(port, defaultPort))
	}
	set, err := url.ParseQuery(query)
	switch {
	case err != nil:
		return "", wrongURL("what is behind the ? is not name=value&name=value, percent-encoded")
	case set.Has("host"):
		return "", wrongURL("hosts are before the name and in ?host=: write them once")
	case set.Has("port") && anyPort:
		return "", wrongURL("ports are before the name and in ?port=: write them once")
	}
	moved := "host=" + url.QueryEscape(strings.Join(hosts, ","))
	if anyPort {
		moved += "&port=" + url.QueryEscape(strings.Join(ports, ","))
	}
	if query != "" {
		query += "&"
	}
	return scheme + "://" + authority[:at] + path + "?" + query + moved, nil
}

const defaultPort = "5432"

// splitHost takes a name, an IPv4 address, an IPv6 address in brackets, or the percent-encoded folder of a socket, each with an
// optional port.
func splitHost(text string) (host, port string, err error) {
	host, port, _ = strings.Cut(text, ":")
	bracket, isIPv6 := strings.CutPrefix(text, "[")
	if isIPv6 {
		var behind string
		if host, behind, isIPv6 = strings.Cut(bracket, "]"); !isIPv6 {
			return "", "", fmt.Errorf("has no ] after its IPv6 address")
		}
		if port, isIPv6 = strings.CutPrefix(behind, ":"); !isIPv6 && behind != "" {
			return "", "", fmt.Errorf("has something other than :PORT after its ]")
		}
	} else if strings.Contains(port, ":") {
		return "", "", fmt.Errorf("has two colons: an IPv6 address is written in brackets, such as [::1]:5432")
	}
	host, err = url.PathUnescape(host)
	address, notAddress := netip.ParseAddr(host)
	switch {
	case err != nil || strings.Contains(host, ","):
		return "", "", fmt.Errorf("is not percent-encoded as it must be")
	case host == "":
		return "", "", fmt.Errorf("is empty")
	case strings.HasPrefix(text, "[") && (notAddress != nil || !address.Is6()):
		return "", "", fmt.Errorf("has no IPv6 address in its brackets")
	}
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", "", fmt.Errorf("has a port that is not a number from 1 to 65535")
		}
	}
	return host, port, nil
}

func wrongURL(reason string) error { return fmt.Errorf("%w: in the PostgreSQL URL %s", ErrURL, reason) }

// Host is one of several hosts of a PostgreSQL URL.
type Host struct {
	// Address is the host's name or IP address, with the port.
	Address string
	Primary bool
	// Err is why the host did not report whether it is the primary, or nil.
	Err error
}

// Hosts asks each host of a PostgreSQL URL with several hosts for its state. For any other URL it returns none.
func Hosts(ctx context.Context, text string) []Host {
	cfg, err := postgresConfig(text)
	if err != nil || len(cfg.Multi) == 0 {
		return nil
	}
	var hosts []Host
	for _, host := range append([]pq.ConfigMultihost{{Host: cfg.Host, Hostaddr: cfg.Hostaddr, Port: cfg.Port}}, cfg.Multi...) {
		hostConfig := cfg
		hostConfig.Host, hostConfig.Hostaddr, hostConfig.Port = host.Host, host.Hostaddr, host.Port
		hostConfig.Multi, hostConfig.TargetSessionAttrs = nil, pq.TargetSessionAttrsAny
		h := Host{Address: net.JoinHostPort(host.Host, strconv.Itoa(int(host.Port)))}
		h.Primary, h.Err = isPrimary(ctx, hostConfig)
		hosts = append(hosts, h)
	}
	return hosts
}

func isPrimary(ctx context.Context, cfg pq.Config) (primary bool, err error) {
	connect, err := connectorOf(cfg)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	pool := sql.OpenDB(plainConnector(connect))
	defer func() { _ = pool.Close() }()
	err = pool.QueryRowContext(ctx, "SELECT NOT pg_is_in_recovery()").Scan(&primary)
	return primary, err
}
