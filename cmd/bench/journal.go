package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/queue"
)

const (
	// measureJournal is what is measured with a full journal and an open transaction.
	measureJournal = "journal"
	// journalDays is over how many days a full journal is spread: the retention.
	journalDays = 30
)

// journal fills the journal, holds a transaction open while events come at the given pace, drains
// again, and sweeps a day.
func (b *webhookBench) journal(ctx context.Context) (err error) {
	b.progress("%s: filling it with %d deliveries", measureJournal, b.command.Journal)
	oldest, err := b.fillJournal(ctx, b.command.Journal)
	if err != nil {
		return fmt.Errorf("fill it: %w", err)
	}
	idle, err := pgx.Connect(ctx, b.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, idle.Close(context.WithoutCancel(ctx))) }()
	for _, statement := range []string{
		"SET idle_in_transaction_session_timeout = 0", "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT txid_current()",
	} {
		if _, err := idle.Exec(ctx, statement); err != nil {
			return fmt.Errorf("hold a transaction open: %w", err)
		}
	}
	if err := b.pace(ctx, measureJournal, b.command.Idle); err != nil {
		return err
	}
	if err := b.drains(ctx, measureJournal, false); err != nil {
		return err
	}
	if empty := b.report.find(measureDrain, drainRate, "events/s"); empty != nil {
		b.report.add(measureJournal, "drain over that with an empty journal", "ratio",
			median(b.report.find(measureJournal, drainRate, "events/s").values)/median(empty.values))
	}
	if err := idle.Ping(ctx); err != nil {
		return fmt.Errorf("the transaction did not stay open: %w", err)
	}
	started := time.Now()
	swept, err := queue.On(b.store).Sweep(ctx, b.store.Now().Sub(oldest.AddDate(0, 0, 1)))
	if err != nil {
		return err
	}
	took := time.Since(started)
	if len(swept.Left) > 0 || len(swept.Partitions) == 0 {
		return fmt.Errorf("the sweep of a day dropped %v and left %v", swept.Partitions, swept.Left)
	}
	b.report.add(measureJournal, "the sweep of a day", "ms", took.Seconds()*1e3)
	return nil
}

// fillJournal adds finished deliveries, spread over the days of the retention, and returns the
// first of those days. It leaves the table analysed and its pages marked as visible to all.
func (b *webhookBench) fillJournal(ctx context.Context, rows int) (oldest time.Time, err error) {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	oldest = today.AddDate(0, 0, -journalDays)
	// A store makes the partitions of the days ahead of its clock.
	for day := oldest; day.Before(today); day = day.AddDate(0, 0, 7) {
		if err := b.makePartitions(ctx, day); err != nil {
			return oldest, err
		}
	}
	conn, err := pgx.Connect(ctx, b.url)
	if err != nil {
		return oldest, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var stores, webhooks []uuid.UUID
	for n := range b.command.Stores {
		stores, webhooks = append(stores, b.stores[n].id), append(webhooks, b.webhooks[n])
	}
	for n := range journalDays {
		day := oldest.AddDate(0, 0, n)
		if _, err := conn.Exec(ctx, fillDay, day.UnixMilli(), share(rows, journalDays, n), texts(stores), texts(webhooks)); err != nil {
			return oldest, fmt.Errorf("the day %s: %w", day.Format(time.DateOnly), err)
		}
	}
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE) finished_deliveries")
	return oldest, err
}

func texts(ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for n, id := range ids {
		list[n] = id.String()
	}
	return list
}

// fillDay adds $2 deliveries of the day that begins at $1, in turns to the stores $3 with their
// webhooks $4. Ids are UUIDs of version 7 (RFC 9562, 5.7).
const fillDay = `INSERT INTO finished_deliveries
 (id, store_id, webhook_id, event_id, event_type, status, attempts, created_at, finished_at)
SELECT (t.hex || '7' || substr(t.hash, 1, 3) || '8' || substr(t.hash, 4, 15))::uuid,
 ($3::text[])[1 + g % cardinality($3::text[])]::uuid, ($4::text[])[1 + g % cardinality($4::text[])]::uuid,
 (t.hex || '7' || substr(t.hash, 18, 3) || '8' || substr(t.hash, 18, 15))::uuid, 'order.paid', 'succeeded',
 convert_to(format('[{"number":1,"startedAt":"%s","durationMs":12,"statusCode":204,"error":null}]',
  to_char(t.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')), 'UTF8'), t.at, t.at
 FROM generate_series(0, $2::bigint - 1) AS g
 CROSS JOIN LATERAL (SELECT $1::bigint + g * 86400000 / $2::bigint AS ms) m
 CROSS JOIN LATERAL (SELECT lpad(to_hex(m.ms), 12, '0') AS hex, md5(g::text || m.ms::text) AS hash,
  to_timestamp(m.ms / 1000.0) AS at) t`

// makePartitions makes the partitions of some days from one on.
func (b *webhookBench) makePartitions(ctx context.Context, day time.Time) error {
	s, err := db.Open(ctx, db.Config{URL: b.url, Clock: func() time.Time { return day }})
	if err != nil {
		return err
	}
	return errors.Join(s.MakePartitions(ctx), s.Close())
}
