package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	entdialect "entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent/refusedrequest"
	"go.storefront.example/gen/ent/tally"
)

// statements are what the databases write differently. $1 is a JSON array of rows.
type statements struct{ addTallies, addRefused, trimRefused string }

const onTally = `
ON CONFLICT (store_id, subject_id, began_at) DO UPDATE SET succeeded = tallies.succeeded + excluded.succeeded,
 failed = tallies.failed + excluded.failed, duration_ms = tallies.duration_ms + excluded.duration_ms`

var postgres = statements{
	addTallies: `INSERT INTO tallies (id, store_id, subject_id, began_at, succeeded, failed, duration_ms)
SELECT id, store_id, subject_id, timestamptz 'epoch' + began_at * interval '1 millisecond', succeeded, failed, millis
 FROM jsonb_to_recordset($1::jsonb) AS r(id uuid, store_id uuid, subject_id uuid, began_at bigint, succeeded bigint, failed bigint, millis bigint)
 WHERE true` + onTally,
	addRefused: `INSERT INTO refused_requests (id, store_id, key_id, request_id, method, route, status, code, fields, created_at)
SELECT id, store_id, key_id, request_id, method, route, status, code, fields, timestamptz 'epoch' + at * interval '1 millisecond'
 FROM jsonb_to_recordset($1::jsonb) AS r(id uuid, store_id uuid, key_id uuid, request_id uuid, method text, route text, status integer, code text, fields text, at bigint)`,
	trimRefused: `DELETE FROM refused_requests d USING (SELECT r.store_id, r.key_id, n.id
 FROM jsonb_to_recordset($1::jsonb) AS r(store_id uuid, key_id uuid) CROSS JOIN LATERAL (
  SELECT id FROM refused_requests o WHERE o.store_id = r.store_id AND o.key_id = r.key_id ORDER BY id DESC OFFSET ` + maxKept + ` LIMIT 1) n) over
 WHERE d.store_id = over.store_id AND d.key_id = over.key_id AND d.id <= over.id`,
}

var sqlite = statements{
	addTallies: `INSERT INTO tallies (id, store_id, subject_id, began_at, succeeded, failed, duration_ms)
SELECT value->>'id', value->>'store_id', value->>'subject_id', value->>'began_at', value->>'succeeded', value->>'failed', value->>'millis'
 FROM json_each($1) WHERE true` + onTally,
	addRefused: `INSERT INTO refused_requests (id, store_id, key_id, request_id, method, route, status, code, fields, created_at)
SELECT value->>'id', value->>'store_id', value->>'key_id', value->>'request_id', value->>'method', value->>'route', value->>'status',
 value->>'code', value->>'fields', value->>'at' FROM json_each($1)`,
	trimRefused: `DELETE FROM refused_requests WHERE id IN (SELECT d.id FROM json_each($1) r
 JOIN refused_requests d ON d.store_id = r.value->>'store_id' AND d.key_id = r.value->>'key_id' AND d.id <= (
  SELECT o.id FROM refused_requests o WHERE o.store_id = r.value->>'store_id' AND o.key_id = r.value->>'key_id' ORDER BY o.id DESC LIMIT 1 OFFSET ` + maxKept + `))`,
}

const maxKept = "200" // MaxKept, as the statements name it

func statementsOf(s *db.DB) statements {
	if s.Dialect() == entdialect.SQLite {
		return sqlite
	}
	return postgres
}

func write[Row any](ctx context.Context, s *db.DB, statement string, rows []Row) error {
	set, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("write usage: %w", err)
	}
	if _, err := s.Writer().ExecContext(ctx, statement, string(set)); err != nil {
		return fmt.Errorf("write usage: %w", err)
	}
	return nil
}

// Tally is what succeeded and failed for a subject in a period.
type Tally struct {
	SubjectID         uuid.UUID
	BeganAt           time.Time
	Succeeded, Failed int64
	// Took is how long all of them took together.
	Took time.Duration
}

// Tallies lists the counts of the subjects since a time, oldest first.
func Tallies(ctx context.Context, s *db.DB, storeID uuid.UUID, subjects []uuid.UUID, since time.Time) ([]Tally, error) {
	rows, err := s.Client().Tally.Query().Where(tally.StoreID(storeID), tally.SubjectIDIn(subjects...), tally.BeganAtGTE(since)).
		Order(tally.ByBeganAt()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	all := make([]Tally, len(rows))
	for i, r := range rows {
		all[i] = Tally{r.SubjectID, r.BeganAt, r.Succeeded, r.Failed, time.Duration(r.DurationMs) * time.Millisecond}
	}
	return all, nil
}

// RefusedOf lists the refused requests of a key, newest first: at most limit.
func RefusedOf(ctx context.Context, s *db.DB, storeID, keyID uuid.UUID, limit int) ([]Refused, error) {
	rows, err := s.Client().RefusedRequest.Query().
		Where(refusedrequest.StoreID(storeID), refusedrequest.KeyID(keyID), refusedrequest.CreatedAtGTE(s.Now().Add(-Retention))).
		Order(refusedrequest.ByID(entsql.OrderDesc())).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read refused requests: %w", err)
	}
	all := make([]Refused, len(rows))
	for i, r := range rows {
		all[i] = Refused{r.StoreID, r.KeyID, r.RequestID, r.Method, r.Route, r.Code, int(r.Status), strings.FieldsFunc(r.Fields, func(c rune) bool { return c == '\n' }), r.CreatedAt}
	}
	return all, nil
}
