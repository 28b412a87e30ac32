package cluster

import (
	"context"
	"errors"
	"strconv"
)

// Standby starts a copy of the server that follows it by streaming replication and outlives it.
func (c *Cluster) Standby(ctx context.Context) (*Cluster, error) {
	s, err := prepare(c.programs, Options{Settings: c.settings})
	if err != nil {
		return nil, err
	}
	err = s.run(ctx, "pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(c.port), "-U", "postgres",
		"-D", s.dataFolder(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s.start(ctx)
}

// Promote makes a standby a primary, and returns once it accepts writes.
func (c *Cluster) Promote(ctx context.Context) error {
	return c.run(ctx, "pg_ctl", "-D", c.dataFolder(), "-w", "promote")
}
