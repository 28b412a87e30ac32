package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// A trigger logs each lease, because a query after a kill would miss leases that have ended by then.
const (
	watchPostgres = `CREATE TABLE bench_leases (delivery uuid, number integer, granted bigint, until bigint, holder text);
CREATE FUNCTION bench_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
 INSERT INTO bench_leases VALUES (NEW.id, jsonb_array_length(convert_from(NEW.attempts, 'UTF8')::jsonb) + 1,
  extract(epoch FROM clock_timestamp()) * 1000, extract(epoch FROM NEW.leased_until) * 1000, current_setting('application_name'));
 RETURN NULL;
END $$;
CREATE TRIGGER bench_claimed AFTER UPDATE OF lease ON deliveries FOR EACH ROW
 WHEN (NEW.lease IS NOT NULL AND NEW.lease IS DISTINCT FROM OLD.lease) EXECUTE FUNCTION bench_lease()`

	watchSQLite = `CREATE TABLE bench_leases (delivery TEXT, number INTEGER, granted INTEGER, until INTEGER, holder TEXT);
CREATE TRIGGER bench_claimed AFTER UPDATE OF lease ON deliveries WHEN NEW.lease IS NOT NULL AND NEW.lease IS NOT OLD.lease BEGIN
 INSERT INTO bench_leases VALUES (NEW.id, json_array_length(CAST(NEW.attempts AS TEXT)) + 1,
  CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.leased_until, '');
END`
)

func (s *stage) watchLeases(ctx context.Context) error {
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	text := watchPostgres
	if s.database.sqlite {
		text = watchSQLite
	}
	if _, err := d.Writer().ExecContext(ctx, text); err != nil {
		return fmt.Errorf("watch the leases: %w", err)
	}
	return nil
}

// leases are those since watchLeases was called.
func (s *stage) leases(ctx context.Context) (list []lease, err error) {
	for row := range db.Rows(ctx, s.handle.Reader(), "SELECT delivery, number, granted, until, holder FROM bench_leases") {
		var l lease
		var granted, until int64
		if err := row.Scan(&l.delivery, &l.number, &granted, &until, &l.holder); err != nil {
			return nil, fmt.Errorf("read the leases: %w", err)
		}
		l.granted, l.until = time.UnixMilli(granted), time.UnixMilli(until)
		list = append(list, l)
	}
	return list, nil
}

type finishedDelivery struct {
	id, event uuid.UUID
	status    string
	attempts  []byte
}

func (s *stage) journal(ctx context.Context) (all []finishedDelivery, err error) {
	for row := range db.Rows(ctx, s.handle.Reader(), "SELECT id, event_id, status, attempts FROM finished_deliveries") {
		var f finishedDelivery
		if err := row.Scan(&f.id, &f.event, &f.status, &f.attempts); err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		all = append(all, f)
	}
	return all, nil
}
