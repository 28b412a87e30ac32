package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"go.storefront.example/ent/id"
)

const (
	// largeDefault is how large a default partition may be if others must wait while it is searched,
	// and a day's rows are moved out of it: some thousand rows.
	largeDefault = 4 << 20
	// laterDays is how many days after today no process writes rows yet: rows of today and tomorrow
	// may already come from a process whose clock is a little ahead.
	laterDays = 2
	// laterConstraint is the name of the constraint that proves that a default partition holds no
	// rows of the days to come.
	laterConstraint = "storefront_days_to_come"
)

// For a new partition, PostgreSQL searches the default one for rows of its day, under a lock that
// blocks all writers. If the default partition is large, a constraint proves first that it holds no
// rows of the days to come. Adding it takes a moment, validating it blocks no writer, and it is
// dropped once the partitions are attached.
//
//	add ──► validate ──► attach each day ──► drop
//
// While the constraint exists, rows of those days are refused as long as they have no partition. No
// process writes them yet, and the next process that makes partitions drops a constraint that a
// dead process has left.

// makeLater makes the partitions of days from laterDays after today on, whatever the default
// partition holds. Only one process does so at a time.
func (s *DB) makeLater(ctx context.Context, table string, days []Partition) (err error) {
	if len(days) == 0 {
		return nil
	}
	turn, free, err := s.takeTurn(ctx)
	if err != nil || !free {
		return errors.Join(err, errTurn)
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	if err := s.dropConstraint(ctx, table); err != nil {
		return err
	}
	first, end := id.Floor(days[0].Day), id.Floor(days[len(days)-1].End())
	err = s.briefly(ctx, unlessInUse(table+"_default")+fmt.Sprintf(`
 ALTER TABLE %[1]s_default ADD CONSTRAINT %[2]s CHECK (id < '%[3]s' OR id >= '%[4]s') NOT VALID;`, table, laterConstraint, first, end))
	if err != nil {
		return err
	}
	// Also if the context has ended: see above.
	defer func() { err = errors.Join(err, s.dropConstraint(context.WithoutCancel(ctx), table)) }()
	// Others write in the meantime.
	_, err = turn.conn.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s_default VALIDATE CONSTRAINT %s", table, laterConstraint))
	if code, _ := postgresCode(err); code == codeCheckViolation {
		return errTooMuch // rows of those days, made under a clock that was far ahead
	}
	if err != nil {
		return err
	}
	for _, p := range days {
		if err := s.makePartition(ctx, p, false); err != nil {
			return err
		}
	}
	return nil
}

// hasConstraint reports whether laterConstraint is there.
func (s *DB) hasConstraint(ctx context.Context, table string) (there bool, err error) {
	err = s.writer.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_constraint WHERE conrelid = to_regclass($1) AND conname = $2)",
		table+"_default", laterConstraint).Scan(&there)
	return there, err
}

// dropLeftConstraint drops laterConstraint if a dead process has left it. One that lives has its turn.
func (s *DB) dropLeftConstraint(ctx context.Context, table string) error {
	there, err := s.hasConstraint(ctx, table)
	if err != nil || !there {
		return err
	}
	turn, free, err := s.takeTurn(ctx)
	if err != nil || !free {
		return err
	}
	return errors.Join(s.dropConstraint(ctx, table), turn.Close())
}

// dropConstraint drops laterConstraint, if it is there.
func (s *DB) dropConstraint(ctx context.Context, table string) error {
	there, err := s.hasConstraint(ctx, table)
	if err != nil || !there {
		return err
	}
	return s.briefly(ctx, fmt.Sprintf("ALTER TABLE %s_default DROP CONSTRAINT IF EXISTS %s;", table, laterConstraint))
}

// errTurn means that another process is doing the work.
var errTurn = fmt.Errorf("another process makes the days to come: %w", errTooMuch)

// turn is a connection that holds an advisory lock as long as it is open.
type turn struct {
	db   *sql.DB
	conn *sql.Conn
}

func (t turn) Close() error { return errors.Join(t.conn.Close(), t.db.Close()) }

// takeTurn returns a connection that keeps other processes out, or false if another one has the
// turn.
func (s *DB) takeTurn(ctx context.Context) (t turn, free bool, err error) {
	if t.db, err = s.migrator(); err != nil {
		return turn{}, false, err
	}
	if t.conn, err = t.db.Conn(ctx); err != nil {
		return turn{}, false, errors.Join(err, t.db.Close())
	}
	if err = t.conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock(hashtext('partitions of days to come'))").Scan(&free); err != nil || !free {
		err = errors.Join(err, t.Close())
	}
	return t, free, err
}

// isLater reports whether no process writes rows of a day yet.
func (p Partition) isLater(today time.Time) bool {
	return !p.Day.Before(today.AddDate(0, 0, laterDays))
}
