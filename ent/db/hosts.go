package db

import (
	"context"
	"database/sql"
	"net"
	"strconv"

	"github.com/lib/pq"
)

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
		one.Host, one.Hostaddr, one.Port = at.Host, at.Hostaddr, at.Port
		one.Multi, one.TargetSessionAttrs = nil, pq.TargetSessionAttrsAny
		h := Host{Address: net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))}
		h.Primary, h.Err = isPrimary(ctx, one)
		hosts = append(hosts, h)
	}
	return hosts
}

func isPrimary(ctx context.Context, at pq.Config) (primary bool, err error) {
	connect, err := connectorOf(at)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	pool := sql.OpenDB(plain(connect))
	defer func() { _ = pool.Close() }()
	err = pool.QueryRowContext(ctx, "SELECT NOT pg_is_in_recovery()").Scan(&primary)
	return primary, err
}
