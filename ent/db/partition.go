package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.storefront.example/ent/id"
)

// daysAhead is for how many days in advance there are partitions. More must be made within that
// time. Rows of a day without one go to the default partition, which only costs more to empty.
const daysAhead = 14

// leastRetention is the least age of a partition that may be dropped: those of today, yesterday and
// later never are.
const leastRetention = 24 * time.Hour

// Partitioned lists the tables that PostgreSQL partitions by day, on ids from package id.
func Partitioned() []string { return []string{"events", "finished_deliveries"} }

// Partition is one day of a table.
type Partition struct {
	Table string
	Day   time.Time // midnight in UTC
}

const dayForm = "20060102"

// Name is the name of the partition's own table.
func (p Partition) Name() string { return p.Table + "_" + p.Day.Format(dayForm) }

// End is the first moment after the day.
func (p Partition) End() time.Time { return p.Day.AddDate(0, 0, 1) }

// Partitions lists the partitions of all tables except the default ones, oldest first. SQLite has
// none.
func (s *DB) Partitions(ctx context.Context) ([]Partition, error) {
	var found []Partition
	for _, table := range s.dialect.partitioned {
		for row := range Rows(ctx, s.reader, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
 WHERE i.inhparent = to_regclass($1) ORDER BY c.relname`, table) {
			var name string
			if err := row.Scan(&name); err != nil {
				return nil, fmt.Errorf("list the partitions of %s: %w", table, err)
			}
			if day, err := time.Parse(table+"_"+dayForm, name); err == nil {
				found = append(found, Partition{table, day})
			}
		}
	}
	return found, nil
}

// ErrTooYoung means that DropPartition would drop data that must be kept.
var ErrTooYoung = errors.New("it holds what is to be kept")

// IsPutOff reports whether a change of the partitions was postponed, because others would have
// waited too long for it. It may succeed later.
func IsPutOff(err error) bool { return IsLocked(err) || errors.Is(err, errTooMuch) }

// errTooMuch means that a change of the partitions has more to do than others may wait for.
var errTooMuch = errors.New("the default partition holds more than can be moved in a moment")

// MakePartitions makes the missing partitions of today and the days to come, by the database's
// clock. It is safe to run twice and from several processes at once. It blocks others only for a
// moment: it postpones anything longer, with an error for which IsPutOff holds, and rows of those
// days go to the default partition.
func (s *DB) MakePartitions(ctx context.Context) error {
	there, err := s.Partitions(ctx)
	if err != nil {
		return err
	}
	today := s.Now().Truncate(24 * time.Hour)
	var putOff error
	for _, table := range s.dialect.partitioned {
		err := s.dropLeftConstraint(ctx, table)
		var later []Partition
		for n := 0; n < daysAhead && err == nil; n++ {
			p := Partition{table, today.AddDate(0, 0, n)}
			if slices.Contains(there, p) {
				continue
			}
			one := s.makePartition(ctx, p, true)
			switch {
			case errors.Is(one, errTooMuch) && p.isLater(today):
				later = append(later, p)
			case errors.Is(one, errTooMuch):
				putOff = errors.Join(putOff, fmt.Errorf("make the partition %s: %w", p.Name(), one))
			case one != nil:
				err = fmt.Errorf("make the partition %s: %w", p.Name(), one)
			}
		}
		if err == nil {
			if err = s.makeLater(ctx, table, later); err != nil {
				err = fmt.Errorf("make the partitions of %s from %s on: %w", table, later[0].Day.Format(time.DateOnly), err)
			}
		}
		if err != nil && !IsPutOff(err) {
			return err
		}
		// Once one is postponed because the table is in use, so would be the others.
		putOff = errors.Join(putOff, err)
	}
	return putOff
}

// daysInterval is how often KeepPartitions checks for missing days.
const daysInterval = 10 * time.Minute

// daysTimeout is how long it waits for the database, which may search a large default partition: a
// server behind a proxy may vanish without a word.
const daysTimeout = time.Hour

// KeepPartitions makes the partitions of the days to come every ten minutes, until the context
// ends. Servers do so as well as workers, so that rows find their day even if no worker runs for
// weeks. A migration has made the first ones.
func (s *DB) KeepPartitions(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(daysInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		limited, cancel := context.WithTimeout(ctx, daysTimeout)
		err := s.MakePartitions(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
		case IsPutOff(err):
			log.InfoContext(ctx, "days to come not made yet", "reason", err)
		case err != nil:
			log.WarnContext(ctx, "make the days to come", "error", err)
		}
	}
}

// makePartition makes one partition and moves the rows of its day out of the default partition, if
// that is small or proven to hold none of them.
func (s *DB) makePartition(ctx context.Context, p Partition, small bool) error {
	names := []any{p.Name(), p.Table, id.Floor(p.Day), id.Floor(p.End())}
	const unlessThere = "\n IF (SELECT relispartition FROM pg_class WHERE oid = to_regclass('%[1]s')) THEN RETURN; END IF;\n "
	check, move := "", ""
	if small {
		check = fmt.Sprintf("IF pg_relation_size('%s_default') > %d THEN RAISE EXCEPTION 'large' USING ERRCODE = '%s'; END IF;",
			p.Table, largeDefault, codeQueryCanceled)
		move = "WITH moved AS (DELETE FROM %[2]s_default WHERE id >= '%[3]s' AND id < '%[4]s' RETURNING *) INSERT INTO %[1]s SELECT * FROM moved;"
	}
	return s.briefly(ctx,
		// Two processes that make the same one take turns, and the second finds it present.
		"PERFORM pg_advisory_xact_lock(hashtext('partitions'));"+fmt.Sprintf(unlessThere+check+
			"CREATE TABLE IF NOT EXISTS %[1]s (LIKE %[2]s INCLUDING DEFAULTS INCLUDING INDEXES);", names[:2]...),
		unlessInUse(p.Table+"_default")+fmt.Sprintf(unlessThere+"LOCK TABLE ONLY %[2]s_default IN ACCESS EXCLUSIVE MODE;\n"+move+
			"ALTER TABLE %[2]s ATTACH PARTITION %[1]s FOR VALUES FROM ('%[3]s') TO ('%[4]s');", names...))
}

// DropPartition drops a partition with all its rows at once. It returns ErrTooYoung, and drops
// nothing, unless the whole day is older than the retention by the database's clock, and at least a
// day old. So neither a wrong argument nor this process's clock can drop data that must be kept. If
// others use the table for long, it returns an error for which IsPutOff holds, and the partition
// stays.
func (s *DB) DropPartition(ctx context.Context, p Partition, retention time.Duration) error {
	present := "clock_timestamp()"
	if at := s.Moment(); at != nil {
		present = fmt.Sprintf("TIMESTAMPTZ '%s'", s.Now().Format(time.RFC3339Nano))
	}
	err := s.briefly(ctx, fmt.Sprintf(`
 IF to_regclass('%[1]s') IS NULL THEN
  RETURN;
 END IF;
 IF TIMESTAMPTZ '%[3]s' > %[4]s - interval '%[5]d milliseconds' THEN
  RAISE EXCEPTION 'too young' USING ERRCODE = '%[6]s';
 END IF;
 %[7]s
 LOCK TABLE ONLY %[2]s IN ACCESS EXCLUSIVE MODE;
 DROP TABLE %[1]s;`,
		p.Name(), p.Table, p.End().Format(time.RFC3339), present, max(retention, leastRetention).Milliseconds(), codeTooYoung,
		unlessInUse(p.Table, p.Table+"_default", p.Name())))
	if code, _ := postgresCode(err); code == codeTooYoung {
		err = ErrTooYoung
	}
	if err != nil {
		return fmt.Errorf("drop the partition %s: %w", p.Name(), err)
	}
	return nil
}
