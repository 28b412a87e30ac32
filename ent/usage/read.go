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
	of := entsql.Dialect(s.Dialect()).Select("subject_id", "began_at", "succeeded", "failed", "duration_ms").
		From(entsql.Table("tallies")).Where(entsql.And(entsql.EQ("store_id", storeID), entsql.GTE("began_at", since))).OrderBy(
		"began_at")
	entsql.FieldIn("subject_id", subjects...)(of)
	query, args := of.Query()
	all := []Tally{}
	for row := range db.Rows(ctx, s.Reader(), query, args...) {
		var t Tally
		var millis int64
		if err := row.Scan(&t.SubjectID, &t.BeganAt, &t.Succeeded, &t.Failed, &millis); err != nil {
			return nil, fmt.Errorf("read usage: %w", err)
		}
		t.Took = time.Duration(millis) * time.Millisecond
		all = append(all, t)
	}
	return all, nil
}

// RefusedOf lists the refused requests of a key, newest first: at most limit.
func RefusedOf(ctx context.Context, s *db.DB, storeID, keyID uuid.UUID, limit int) ([]Refused, error) {
	all := []Refused{}
	for row := range db.Rows(ctx, s.Reader(), `SELECT store_id, key_id, request_id, method, route, code, status, fields, created_at
 FROM refused_requests WHERE store_id = $1 AND key_id = $2 AND created_at >= $3 ORDER BY id DESC LIMIT $4`,
		storeID, keyID, s.Now().Add(-Retention), limit) {
		var r Refused
		var fields string
		err := row.Scan(&r.StoreID, &r.KeyID, &r.RequestID, &r.Method, &r.Route, &r.Code, &r.Status, &fields, &r.At)
		if err != nil {
			return nil, fmt.Errorf("read refused requests: %w", err)
		}
		r.Fields = strings.FieldsFunc(fields, func(c rune) bool { return c == '\n' })
		all = append(all, r)
	}
	return all, nil
}
