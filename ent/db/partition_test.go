package db_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/id"
	"go.storefront.example/gen/ent"
)

func addEvent(t *testing.T, s *db.DB, at time.Time) {
	t.Helper()
	_, err := s.Writer().ExecContext(context.Background(),
		`INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, 'order.paid', '{}', $3)`,
		id.At(at), id.At(at), at)
	require.NoError(t, err)
}

// drop drops a partition.
func drop(t *testing.T, s *db.DB, p db.Partition, retention time.Duration) error {
	t.Helper()
	return dbtest.NotPutOff(func() error { return s.DropPartition(t.Context(), p, retention) })
}

func count(t *testing.T, s *db.DB, query string) (n int) {
	t.Helper()
	require.NoError(t, s.Reader().QueryRowContext(context.Background(), query).Scan(&n))
	return n
}

func TestPartitionsAreMadeAheadAndDroppedWhole(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Date(2031, 5, 4, 23, 59, 0, 0, time.UTC)
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: func() time.Time { return now }})
	today := db.Partition{Table: "events", Day: time.Date(2031, 5, 4, 0, 0, 0, 0, time.UTC)}

	// Rows of days that nobody made yet wait in the default partition and move to theirs.
	addEvent(t, s, now)
	addEvent(t, s, now.Add(2*time.Minute))
	require.Equal(t, 2, count(t, s, "SELECT count(*) FROM events_default"))
	for range 2 { // the second time there is nothing to do
		dbtest.MakePartitions(t, s)
	}
	require.Zero(t, count(t, s, "SELECT count(*) FROM events_default"))
	require.Equal(t, 1, count(t, s, "SELECT count(*) FROM "+today.Name()))

	all, err := s.Partitions(ctx)
	require.NoError(t, err)
	require.Contains(t, all, today)
	require.Contains(t, all, db.Partition{Table: "finished_deliveries", Day: today.Day.AddDate(0, 0, 13)})

	now = now.AddDate(0, 0, 31)
	require.NoError(t, drop(t, s, today, 30*24*time.Hour))
	require.Equal(t, 1, count(t, s, "SELECT count(*) FROM events"))
	require.NoError(t, drop(t, s, today, 30*24*time.Hour), "what is gone is gone")
}

// Whoever asks for it and whatever this process's clock shows: the guard stands next to the drop,
// and goes by the database's clock.
func TestWhatIsToBeKeptIsNotDropped(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const day, retention = 24 * time.Hour, 30 * 24 * time.Hour
	for name, off := range map[string]time.Duration{"ahead": 3 * 365 * day, "behind": -3 * 365 * day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.New(t, dbtest.Postgres, db.Config{ProcessClock: func() time.Time { return time.Now().Add(off) }})
			all, err := s.Partitions(ctx)
			require.NoError(t, err)
			for _, p := range all {
				for _, kept := range []time.Duration{retention, 0, -retention} {
					require.ErrorIs(t, drop(t, s, p, kept), db.ErrTooYoung, "%s, %v", p.Name(), kept)
				}
			}
			left, err := s.Partitions(ctx)
			require.NoError(t, err)
			require.Equal(t, all, left)
		})
	}

	now := time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: func() time.Time { return now }})
	dbtest.MakePartitions(t, s)
	p := db.Partition{Table: "events", Day: now.Truncate(day)}
	now = p.End().Add(retention - time.Millisecond)
	require.ErrorIs(t, drop(t, s, p, retention), db.ErrTooYoung, "its last millisecond is to be kept")
	now = now.Add(time.Millisecond)
	require.NoError(t, drop(t, s, p, retention))
}

func TestAPartitionInUseIsLeftAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Now()
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: func() time.Time { return now }})
	all, err := s.Partitions(ctx)
	require.NoError(t, err)
	now = now.AddDate(0, 0, 40)
	tx, err := s.Writer().BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(ctx, "SELECT count(*) FROM events")
	require.NoError(t, err)
	require.True(t, db.IsPutOff(s.DropPartition(ctx, all[0], 0)))
	require.NoError(t, tx.Rollback())
	require.NoError(t, drop(t, s, all[0], 0))
}

func TestPartitionsAreMadeByTwoAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: func() time.Time { return time.Date(2033, 1, 1, 0, 0, 0, 0, time.UTC) }})
	done := make(chan error)
	for range 2 {
		go func() { done <- s.MakePartitions(ctx) }()
	}
	for range 2 {
		if err := <-done; !db.IsPutOff(err) { // the other one held it for long
			require.NoError(t, err)
		}
	}
	dbtest.MakePartitions(t, s)
	require.Equal(t, 14, count(t, s, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass AND inhrelid::regclass::text LIKE 'events_2033%'"))
}

// A change whose event was on its way to the default partition, while its day was given one of its
// own, is made again and finds it.
func TestATransactionThatMeetsANewPartitionIsRunAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Date(2035, 6, 7, 8, 0, 0, 0, time.UTC)
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: func() time.Time { return now }})
	holder, err := s.Writer().BeginTx(ctx, nil)
	require.NoError(t, err)
	// What makes the partition, step by step: the insert below waits for it to commit.
	p := db.Partition{Table: "events", Day: now.Truncate(24 * time.Hour)}
	for _, statement := range []string{
		"CREATE TABLE " + p.Name() + " (LIKE events INCLUDING DEFAULTS)",
		"LOCK TABLE events_default IN ACCESS EXCLUSIVE MODE",
		"ALTER TABLE events ATTACH PARTITION " + p.Name() + " FOR VALUES FROM ('" + id.Floor(p.Day).String() + "') TO ('" + id.Floor(p.End()).String() + "')",
	} {
		_, err := holder.ExecContext(ctx, statement)
		require.NoError(t, err)
	}
	tries, done := 0, make(chan error, 1)
	go func() {
		done <- s.WithTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
			tries++
			_, err := tx.ExecContext(ctx, `INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, 'order.paid', '{}', $3)`,
				id.At(now), id.At(now), now)
			return err
		})
	}()
	require.Eventually(t, func() bool {
		return count(t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	}, hang, 5*time.Millisecond)
	require.NoError(t, holder.Commit())
	require.NoError(t, <-done)
	require.Equal(t, 2, tries)
	require.Equal(t, 1, count(t, s, "SELECT count(*) FROM "+p.Name()))
}

// A default partition that holds a day's work is not emptied while others wait: today and tomorrow stay
// in it, and the days after get partitions of their own.
func TestALargeDefaultPartitionHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const day = 24 * time.Hour
	now := time.Date(2037, 6, 7, 8, 0, 0, 0, time.UTC)
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: func() time.Time { return now }})
	_, err := s.Writer().Exec(`INSERT INTO events (id, store_id, type, payload, created_at)
 SELECT overlay($1 placing lpad(to_hex(g), 12, '0') from 25)::uuid, gen_random_uuid(), 'order.paid', convert_to(repeat('x', 1900), 'UTF8'), $2
 FROM generate_series(1, 4000) g`, id.Floor(now).String(), now)
	require.NoError(t, err)

	// What a process that died while it made partitions has left behind.
	_, err = s.Writer().Exec("ALTER TABLE events_default ADD CONSTRAINT storefront_days_to_come CHECK (id < $$" +
		id.Floor(now.Add(2*day)).String() + "$$) NOT VALID")
	require.NoError(t, err)
	var all []db.Partition
	const possible = 2*14 - 2
	for tries := 0; tries < 2 || len(all) < possible && tries < 50; tries++ { // a busy machine puts off others too
		err = s.MakePartitions(ctx)
		require.True(t, db.IsPutOff(err), "%v", err)
		require.ErrorContains(t, err, "events_20370607")
		require.ErrorContains(t, err, "events_20370608")
		require.NotContains(t, err.Error(), "events_20370609")
		all, err = s.Partitions(ctx)
		require.NoError(t, err)
		all = slices.DeleteFunc(all, func(p db.Partition) bool { return p.Day.Before(now.Truncate(day)) }) // the template's
	}
	for n := range 14 {
		p := db.Partition{Table: "events", Day: now.Truncate(day).Add(time.Duration(n) * day)}
		require.Equal(t, n >= 2, slices.Contains(all, p), p.Name())
		require.Contains(t, all, db.Partition{Table: "finished_deliveries", Day: p.Day})
	}
	require.Equal(t, 4000, count(t, s, "SELECT count(*) FROM events_default"), "nothing was moved")
	require.Zero(t, count(t, s, "SELECT count(*) FROM pg_constraint WHERE conname = 'storefront_days_to_come'"), "no day is barred")
	addEvent(t, s, now.Add(day))
	addEvent(t, s, now.Add(5*day))
	require.Equal(t, 1, count(t, s, "SELECT count(*) FROM events_20370612"))
}

// Rows of a day to come, which a wrong clock has made: their day is left to the default partition, and
// nobody is barred from writing.
func TestRowsOfDaysToComeBarNobody(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Date(2037, 6, 7, 8, 0, 0, 0, time.UTC)
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: func() time.Time { return now }})
	_, err := s.Writer().Exec(`INSERT INTO events (id, store_id, type, payload, created_at)
 SELECT overlay($1 placing lpad(to_hex(g), 12, '0') from 25)::uuid, gen_random_uuid(), 'order.paid', convert_to(repeat('x', 1900), 'UTF8'), $2
 FROM generate_series(1, 4000) g`, id.Floor(now.AddDate(0, 0, 3)).String(), now)
	require.NoError(t, err)
	for tries, left := 0, 1; left > 0; tries++ {
		require.Less(t, tries, 50, "somebody is barred") // a busy machine puts off that too
		require.True(t, db.IsPutOff(s.MakePartitions(ctx)))
		left = count(t, s, "SELECT count(*) FROM pg_constraint WHERE conname = 'storefront_days_to_come'")
	}
	addEvent(t, s, now.AddDate(0, 0, 4))
}

// The constraint of a process that is still making partitions stays.
func TestOnlyTheConstraintOfADeadProcessIsDropped(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t, dbtest.Postgres, db.Config{})
	living, err := s.Writer().Conn(t.Context())
	require.NoError(t, err)
	for _, statement := range []string{
		"SELECT pg_advisory_lock(hashtext('partitions of days to come'))",
		"ALTER TABLE events_default ADD CONSTRAINT storefront_days_to_come CHECK (id < 'ffffffff-0000-0000-0000-000000000000') NOT VALID",
	} {
		_, err = living.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	const constraints = "SELECT count(*) FROM pg_constraint WHERE conname = 'storefront_days_to_come'"
	dbtest.MakePartitions(t, s)
	require.Equal(t, 1, count(t, s, constraints))
	_, err = living.ExecContext(t.Context(), "SELECT pg_advisory_unlock_all()")
	require.NoError(t, errors.Join(err, living.Close()))
	dbtest.MakePartitions(t, s)
	require.Zero(t, count(t, s, constraints))
}

// Whoever writes while partitions are made and dropped waits for no lock longer than a moment, also
// while somebody reads the tables for long.
func TestChangesOfPartitionsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// PostgreSQL itself ends a statement that waits longer. A change lasts a tenth of it; the rest is for
	// a busy machine.
	const moment = "1s"
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s := dbtest.New(t, dbtest.Postgres, db.Config{Clock: clock, MaxConns: 12})
	old, err := s.Partitions(ctx)
	require.NoError(t, err)

	stop := make(chan struct{})
	var writers sync.WaitGroup
	defer writers.Wait()
	defer close(stop)
	for range 4 {
		conn, err := s.Writer().Conn(ctx)
		require.NoError(t, err)
		_, err = conn.ExecContext(ctx, "SET lock_timeout = '"+moment+"'")
		require.NoError(t, err)
		writers.Go(func() {
			defer func() { assert.NoError(t, conn.Close()) }()
			for {
				select {
				case <-stop:
					return
				default:
				}
				at := clock()
				_, err := conn.ExecContext(ctx, `INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, 'order.paid', '{}', $3)`,
					id.At(at), id.At(at), at)
				if !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	ahead.Store(int64(5 * 24 * time.Hour))
	dbtest.MakePartitions(t, s)

	long, err := s.Writer().BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = long.ExecContext(ctx, "SELECT count(*) FROM events")
	require.NoError(t, err)
	require.True(t, db.IsPutOff(s.DropPartition(ctx, old[0], 0)), "with somebody who reads for long")
	_, err = long.ExecContext(ctx, "LOCK TABLE events_default IN ACCESS SHARE MODE")
	require.NoError(t, err)
	ahead.Store(int64(6 * 24 * time.Hour))
	require.True(t, db.IsPutOff(s.MakePartitions(ctx)))
	require.NoError(t, long.Rollback())
	require.NoError(t, drop(t, s, old[0], 0))
	dbtest.MakePartitions(t, s)
}
