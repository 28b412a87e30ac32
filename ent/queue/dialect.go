package queue

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
	"time"

	entdialect "entgo.io/ent/dialect"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// Settings are what a worker's connections to PostgreSQL should have. The tables of the queue are empty at one moment
// and full at the next, so each statement is planned for what they hold when it runs, and looks up each row by an index.
func Settings() map[string]string {
	return map[string]string{
		"plan_cache_mode": "force_custom_plan",
		"enable_seqscan":  "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
	}
}

// dialect is what differs between the databases. A statement has the same arguments on both.
type dialect struct {
	statements map[string]string
	moment     string // the present, given the database's Moment as argument %d
	// The clause of a SELECT that locks its rows, and of one that skips rows locked by others.
	forUpdate, skipLocked string
	contains              string // whether an event's payload contains text $5
	// singleWriter is true where one transaction at a time writes, on one machine with one clock.
	singleWriter bool
	claim        func(context.Context, *Queue, []Want, time.Duration) ([]Delivery, error)
}

var (
	//go:embed postgres.sql
	postgresSQL string
	//go:embed sqlite.sql
	sqliteSQL string

	postgres = &dialect{
		statements: db.Statements(postgresSQL),
		moment:     "COALESCE($%d::timestamptz, now())",
		forUpdate:  " FOR UPDATE",
		skipLocked: " FOR UPDATE SKIP LOCKED",
		contains:   "position(lower($5::text) IN lower(convert_from(payload, 'UTF8'))) > 0",
		claim:      claimPostgres,
	}
	// Times are those of the database's clock, in milliseconds.
	sqlite = &dialect{
		statements:   db.Statements(sqliteSQL),
		moment:       "$%d",
		contains:     "instr(lower(CAST(payload AS TEXT)), lower($5)) > 0",
		singleWriter: true,
		claim:        claimSQLite,
	}
)

func dialectOf(s *db.DB) *dialect {
	if s.Dialect() == entdialect.SQLite {
		return sqlite
	}
	return postgres
}

// present is the present in a statement whose argument n is the database's Moment.
func (d *dialect) present(n int) string { return fmt.Sprintf(d.moment, n) }

// exec runs the statements of a name and returns how many rows the first one changed.
func (d *dialect) exec(ctx context.Context, on execer, name string, args ...any) (changed int64, err error) {
	for i, statement := range strings.Split(d.statements[name], ";\n") {
		n, err := affected(on.ExecContext(ctx, statement, args...))
		if err != nil {
			return 0, err
		}
		if i == 0 {
			changed = n
		}
	}
	return changed, nil
}

func claimPostgres(ctx context.Context, q *Queue, wants []Want, lease time.Duration) ([]Delivery, error) {
	set, err := rowset(wants)
	if err != nil {
		return nil, err
	}
	return scanClaimed(db.Rows(ctx, q.db.Writer(), q.dialect.statements["claim"], q.db.Moment(), set, lease.Milliseconds()))
}

// claimSQLite leases one lane after the other, and reads what it has leased.
func claimSQLite(ctx context.Context, q *Queue, wants []Want, lease time.Duration) (claimed []Delivery, err error) {
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		now, token := q.db.Now(), uuid.New()
		for _, w := range wants {
			_, err := q.dialect.exec(ctx, tx, "lease", token, now.Add(lease), w.StoreID, w.WebhookID, w.Retry, now, w.Max)
			if err != nil {
				return err
			}
		}
		claimed, err = scanClaimed(db.Rows(ctx, tx, q.dialect.statements["leased"], now.Add(lease), token))
		return err
	})
	return claimed, err
}
