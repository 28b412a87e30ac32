package queue

import (
	"context"
	"database/sql"
	_ "embed"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
)

// Settings are for a worker's connections to PostgreSQL. The queue's tables may be empty at one time and full soon after, so
// each statement is planned anew and reads by an index.
func Settings() map[string]string {
	return map[string]string{
		"plan_cache_mode": "force_custom_plan",
		"enable_seqscan":  "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
	}
}

// dialect has statements, whose arguments are the same in every dialect, and properties of a database.
type dialect struct {
	statements map[string]string
	// singleWriter is true if only one transaction at a time writes, on one machine with one clock.
	singleWriter bool
	relays       bool
	// followUp names a second statement that runs after the first with the same arguments, because SQLite cannot insert the
	// rows that a DELETE returns.
	followUp map[string]string
	claim    func(context.Context, *Queue, []ClaimRequest, time.Duration) ([]Delivery, error)
	// array encodes several ids as one argument of a statement.
	array func([]uuid.UUID) string
}

var (
	//go:embed postgres.sql
	postgresSQL string
	//go:embed distributed.sql
	distributedSQL string
	//go:embed sqlite.sql
	sqliteSQL string
	//go:embed queue.sql
	sharedSQL string

	shared   = db.Statements(sharedSQL)
	postgres = &dialect{
		statements: db.Statements(postgresSQL, sharedSQL),
		claim:      claimPostgres,
		array:      func(ids []uuid.UUID) string { return "{" + strings.Join(idStrings(ids), ",") + "}" },
	}
	distributed = &dialect{
		statements: db.Statements(postgresSQL, sharedSQL, distributedSQL),
		relays:     true,
		claim:      claimPostgres,
		array:      postgres.array,
	}
	// sqlite takes times in milliseconds.
	sqlite = &dialect{
		statements:   db.Statements(sqliteSQL, sharedSQL),
		singleWriter: true,
		followUp:     map[string]string{"end": "drop ended", "cancel": "drop cancelled"},
		claim:        claimSQLite,
		array: func(ids []uuid.UUID) string {
			return `["` + strings.Join(idStrings(ids), `","`) + `"]`
		},
	}
)

func dialectOf(d *db.DB) *dialect {
	if d.Distributed() {
		return distributed
	}
	return db.ByDialect(d, postgres, sqlite)
}

// exec runs the named statement and its followUp. changed is of the first.
func (d *dialect) exec(ctx context.Context, conn execer, name string, args ...any) (changed int64, err error) {
	result, err := conn.ExecContext(ctx, d.statements[name], args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	if next := d.followUp[name]; next != "" && err == nil {
		_, err = conn.ExecContext(ctx, d.statements[next], args...)
	}
	return changed, err
}

func claimPostgres(ctx context.Context, q *Queue, requests []ClaimRequest, lease time.Duration) ([]Delivery, error) {
	set, err := rowset(requests)
	if err != nil {
		return nil, err
	}
	return scanClaimed(db.Rows(ctx, q.db.Writer(), q.dialect.statements["claim"], q.db.TimeArg(), set, lease.Milliseconds()))
}

func claimSQLite(ctx context.Context, q *Queue, requests []ClaimRequest, lease time.Duration) (claimed []Delivery, err error) {
	err = q.inTx(ctx, func(tx *sql.Tx) error {
		now, token := q.db.Now(), uuid.New()
		for _, r := range requests {
			leased, err := scanClaimed(db.Rows(ctx, tx, q.dialect.statements["claim"], token, now.Add(lease), r.StoreID, r.WebhookID,
				r.Retry, now, r.Max, r.floor))
			if err != nil {
				return err
			}
			claimed = append(claimed, leased...)
		}
		return nil
	})
	return claimed, err
}
