package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect"

	"go.storefront.example/ent/id"
)

// daysAhead is for how many days to come there are partitions. Somebody must make more within
// that time; rows of a day without one are kept in the default partition, which costs more to
// empty and nothing else.
const daysAhead = 14

// lockWait is how long what changes a table's partitions waits for those who use it, and makes
// others wait behind it; then it gives up, to be tried again.
const lockWait = 250 * time.Millisecond

// Partitioned lists the tables that are cut into days on PostgreSQL, by ids that package id made.
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

// Partitions lists the partitions of all tables but the default ones, oldest first. There are
// none on SQLite.
func (s *Store) Partitions(ctx context.Context) ([]Partition, error) {
	if s.dialect == dialect.SQLite {
		return nil, nil
	}
	var found []Partition
	for _, table := range Partitioned() {
		rows, err := s.reader.QueryContext(ctx, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
 WHERE i.inhparent = to_regclass($1) ORDER BY c.relname`, table)
		if err != nil {
			return nil, fmt.Errorf("list the partitions of %s: %w", table, err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return nil, fmt.Errorf("list the partitions of %s: %w", table, err)
			}
			if day, err := time.Parse(table+"_"+dayForm, name); err == nil {
				found = append(found, Partition{table, day})
			}
		}
		if err := rows.Err(); err != nil {
			return nil, fmt.Errorf("list the partitions of %s: %w", table, err)
		}
	}
	return found, nil
}

// MakePartitions makes the partitions of today and the days to come that are not there yet. It is
// safe to run twice and from several processes at once; it gives up with an error when somebody
// holds a table for long, and then has made some or none.
func (s *Store) MakePartitions(ctx context.Context) error {
	if s.dialect == dialect.SQLite {
		return nil
	}
	there, err := s.Partitions(ctx)
	if err != nil {
		return err
	}
	for _, table := range Partitioned() {
		today := s.Now().Truncate(24 * time.Hour)
		for n := range daysAhead {
			p := Partition{table, today.AddDate(0, 0, n)}
			if slices.Contains(there, p) {
				continue
			}
			if err := s.makePartition(ctx, p); err != nil {
				return fmt.Errorf("make the partition %s: %w", p.Name(), err)
			}
		}
	}
	return nil
}

// makePartition makes one, with the rows of its day that the default partition holds.
func (s *Store) makePartition(ctx context.Context, p Partition) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	bounds := fmt.Sprintf("FROM ('%s') TO ('%s')", id.Floor(p.Day), id.Floor(p.End()))
	within := fmt.Sprintf("id >= '%s' AND id < '%s'", id.Floor(p.Day), id.Floor(p.End()))
	for _, statement := range []string{
		fmt.Sprintf("SET LOCAL lock_timeout = %d", lockWait.Milliseconds()),
		// Two processes that make the same one take turns, and the second finds it made.
		"SELECT pg_advisory_xact_lock(hashtext('partitions'))",
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (LIKE %s INCLUDING DEFAULTS)", p.Name(), p.Table),
		fmt.Sprintf(`DO $do$ BEGIN
 IF NOT (SELECT relispartition FROM pg_class WHERE oid = '%[1]s'::regclass) THEN
  LOCK TABLE %[2]s_default IN ACCESS EXCLUSIVE MODE;
  WITH moved AS (DELETE FROM %[2]s_default WHERE %[3]s RETURNING *) INSERT INTO %[1]s SELECT * FROM moved;
  ALTER TABLE %[2]s ATTACH PARTITION %[1]s FOR VALUES %[4]s;
 END IF;
END $do$`, p.Name(), p.Table, within, bounds),
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// DropPartition drops a partition with its rows at once, whatever their number. It gives up with
// an error for which IsLocked holds when somebody uses the table for long; then it is still there.
func (s *Store) DropPartition(ctx context.Context, p Partition) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("drop the partition %s: %w", p.Name(), err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	for _, statement := range []string{
		fmt.Sprintf("SET LOCAL lock_timeout = %d", lockWait.Milliseconds()),
		"DROP TABLE IF EXISTS " + p.Name(),
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("drop the partition %s: %w", p.Name(), err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("drop the partition %s: %w", p.Name(), err)
	}
	return nil
}
