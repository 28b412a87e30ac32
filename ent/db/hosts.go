package db

import (
	"net"
	"net/url"
	"strings"
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
