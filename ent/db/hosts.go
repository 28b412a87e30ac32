package db

import (
	"context"
	"database/sql"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/lib/pq"
)

// defaultPort is PostgreSQL's.
const defaultPort = "5432"

// spreadHosts converts libpq's form of a URL with several hosts, or with a socket's folder as its
// host, to the form of the driver: hosts and ports as parameters. It returns any other URL
// unchanged. It checks nothing: url.Parse and the driver do.
//
//	postgres://u@a:5432,[::1]:5433/db  →  postgres://u@/db?host=a,::1&port=5432,5433
//
// Source: PostgreSQL's documentation, libpq, Connection URIs.
func spreadHosts(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	at := strings.LastIndexByte(authority, '@') + 1
	userinfo, list := authority[:at], authority[at:]
	if !strings.ContainsAny(list, ",%") {
		return text
	}
	var hosts, ports []string
	named := false // whether any port is given
	for entry := range strings.SplitSeq(list, ",") {
		host, port := splitPort(entry)
		named = named || port != ""
		hosts, ports = append(hosts, host), append(ports, port)
	}
	if !named {
		ports = nil // PGPORT or the parameter applies to all
	}
	for i, port := range ports {
		if port == "" {
			ports[i] = defaultPort
		}
	}
	// Appended, so that the rest stays exactly as written; a parameter of the same name comes first
	// and wins, as with libpq.
	tail, _, _ = strings.Cut(tail, "#")
	separator := "?"
	if strings.Contains(tail, "?") {
		separator = "&"
	}
	added := separator + "host=" + url.QueryEscape(strings.Join(hosts, ","))
	if ports != nil {
		added += "&port=" + url.QueryEscape(strings.Join(ports, ","))
	}
	return scheme + "://" + userinfo + tail + added
}

// splitPort splits a host of a list from its port, "" if there is none. It removes the brackets of
// an IPv6 address and decodes percent-encoding.
func splitPort(entry string) (host, port string) {
	host = entry
	if h, p, err := net.SplitHostPort(entry); err == nil {
		host, port = h, p
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if plain, err := url.PathUnescape(host); err == nil {
		host = plain
	}
	return host, port
}

// Host is one of several hosts of a PostgreSQL URL.
type Host struct {
	// Address is its name or address, with its port.
	Address string
	Primary bool
	// Err is why it does not say whether it is the primary.
	Err error
}

// Hosts asks each host of a PostgreSQL URL that has several. For any other URL there are none.
func Hosts(ctx context.Context, text string) []Host {
	cfg, err := postgresConfig(text)
	if err != nil || len(cfg.Multi) == 0 {
		return nil
	}
	var hosts []Host
	for _, at := range append([]pq.ConfigMultihost{{Host: cfg.Host, Hostaddr: cfg.Hostaddr, Port: cfg.Port}}, cfg.Multi...) {
		one := cfg
		one.Host, one.Hostaddr, one.Port, one.Multi, one.TargetSessionAttrs = at.Host, at.Hostaddr, at.Port, nil, pq.TargetSessionAttrsAny
		h := Host{Address: net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))}
		h.Primary, h.Err = isPrimary(ctx, one)
		hosts = append(hosts, h)
	}
	return hosts
}

func isPrimary(ctx context.Context, at pq.Config) (primary bool, err error) {
	connect, err := pq.NewConnectorConfig(at)
	if err != nil {
		return false, err
	}
	connect.Dialer(newDialer())
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	pool := sql.OpenDB(Config{}.plain(connect))
	defer func() { _ = pool.Close() }()
	err = pool.QueryRowContext(ctx, "SELECT NOT pg_is_in_recovery()").Scan(&primary)
	return primary, err
}
