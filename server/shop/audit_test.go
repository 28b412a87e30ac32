package shop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// audit is a log in the database. It has an entry for each time that a column of moments gets, and for each event and
// journal entry. Triggers write an entry in the transaction of the change, which holds the lock of the changed object's row.
// So an object's entries are numbered in the order of the commits.
type audit struct {
	t  *testing.T
	db *db.DB
}

// moments lists, for each table, the columns whose time may never become earlier.
var moments = map[string][]string{
	"stores":        {"updated_at"},
	"products":      {"updated_at", "published_at"},
	"customers":     {"updated_at"},
	"orders":        {"updated_at", "paid_at"},
	"payment_links": {"updated_at", "last_paid_at", "disabled_at"},
	"api_keys":      {"created_at", "revoked_at"},
	"webhooks":      {"updated_at", "disabled_at"},
}

// newAudit creates the log and its triggers. It has no entries for earlier changes.
func newAudit(t *testing.T, d *db.DB) audit {
	t.Helper()
	a := audit{t, d}
	types, event := [2]string{"bigserial", "timestamptz"}, "(convert_from(NEW.payload, 'UTF8')::jsonb #>> '{data,id}')::uuid"
	if d.Dialect() == dialect.SQLite {
		types, event = [2]string{"integer", "datetime"}, "CAST(NEW.payload AS TEXT) ->> '$.data.id'"
	} else {
		dbtest.OnePostgres(t, "its triggers number the changes of all tables in one sequence, which several nodes do not have")
	}
	a.exec(fmt.Sprintf("CREATE TABLE audit (number %s PRIMARY KEY, object uuid, source text, at %s, entry uuid)", types[0],
		types[1]))
	for table, columns := range moments {
		for _, column := range columns {
			note := fmt.Sprintf("NEW.id, '%s.%s', NEW.%s, NULL", table, column, column)
			a.trigger(table, column, "INSERT", "NEW."+column+" IS NOT NULL", note)
			a.trigger(table, column, "UPDATE", fmt.Sprintf("NEW.%[1]s IS NOT NULL AND NEW.%[1]s IS DISTINCT FROM OLD.%[1]s", column), note)
		}
	}
	a.trigger("activity_entries", "entry", "INSERT", "true", "NEW.resource_id, 'journal', NEW.created_at, NEW.id")
	a.trigger("events", "object", "INSERT", "true", event+", 'event', NEW.created_at, NEW.id")
	return a
}

func (a audit) exec(statement string) {
	a.t.Helper()
	_, err := a.db.Writer().Exec(statement)
	require.NoError(a.t, err, statement)
}

func (a audit) trigger(table, name, operation, when, note string) {
	a.t.Helper()
	name = fmt.Sprintf("audit_%s_%s_%s", table, name, operation)
	insert := "INSERT INTO audit (object, source, at, entry) SELECT " + note
	if a.db.Dialect() == dialect.SQLite {
		a.exec(fmt.Sprintf("CREATE TRIGGER %s AFTER %s ON %s WHEN %s BEGIN %s; END", name, operation, table, when, insert))
		return
	}
	a.exec(fmt.Sprintf("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN NULL; END $$", name, insert))
	a.exec(fmt.Sprintf("CREATE TRIGGER %[1]s AFTER %[2]s ON %[3]s FOR EACH ROW WHEN (%[4]s) EXECUTE FUNCTION %[1]s()", name,
		operation, table, when))
}

// violations reads each object's entries in the order of the commits. It reports every time that is earlier than the time
// before it, and every id of an event or journal entry that does not sort after the id before it.
func (a audit) violations() []string {
	a.t.Helper()
	rows, err := a.db.Reader().Query("SELECT object, source, at, entry FROM audit ORDER BY object, number")
	require.NoError(a.t, err)
	defer func() { require.NoError(a.t, rows.Close()) }()
	var found []string
	var id uuid.UUID
	var last time.Time
	ids := map[string]uuid.UUID{}
	n := 0
	for rows.Next() {
		var object, entry uuid.NullUUID
		var source string
		var at time.Time
		require.NoError(a.t, rows.Scan(&object, &source, &at, &entry))
		n++
		if object.UUID != id {
			id, last = object.UUID, time.Time{}
			clear(ids)
		}
		if at.Before(last) {
			found = append(found, fmt.Sprintf("%s: %s goes back by %v to %v", id, source, last.Sub(at), at))
		}
		last = at
		if before := ids[source]; entry.Valid && bytes.Compare(before[:], entry.UUID[:]) >= 0 {
			found = append(found, fmt.Sprintf("%s: the id of %s sorts before the one before it", id, source))
		}
		if entry.Valid {
			ids[source] = entry.UUID
		}
	}
	require.NoError(a.t, rows.Err())
	require.Positive(a.t, n)
	return found
}

// breaks reads the activity journal by time and id. It reports a change of a field if the change's old value differs from
// the new value in the field's previous change.
func (a audit) breaks() []string {
	a.t.Helper()
	rows, err := a.db.Reader().Query("SELECT resource_id, action, changes FROM activity_entries ORDER BY resource_id, " +
		"created_at, id")
	require.NoError(a.t, err)
	defer func() { require.NoError(a.t, rows.Close()) }()
	var found []string
	var id uuid.UUID
	state := map[string]string{}
	for rows.Next() {
		var object uuid.UUID
		var action string
		var text []byte
		require.NoError(a.t, rows.Scan(&object, &action, &text))
		if object != id {
			id = object
			clear(state)
		}
		if action == "store.imported" {
			continue // an import's entry counts rows, and changes no field
		}
		var changes map[string]struct{ From, To json.RawMessage }
		require.NoError(a.t, json.Unmarshal(text, &changes))
		for field, c := range changes {
			if before, seen := state[field]; seen && before != string(c.From) {
				found = append(found, fmt.Sprintf("%s of %s: %s is changed from %s, which was %s", action, id, field, c.From, before))
			}
			state[field] = string(c.To)
		}
	}
	require.NoError(a.t, rows.Err())
	return found
}

// disagreements counts, for each rule about times, the rows that break it. One rule is that no order has an updatedAt before
// its paidAt.
func (a audit) disagreements() map[string]int {
	a.t.Helper()
	counts := map[string]int{}
	for name, query := range map[string]string{
		"orders whose updatedAt lies before their paidAt": "SELECT count(*) FROM orders WHERE updated_at < paid_at",
		"orders whose paidAt lies before their createdAt": "SELECT count(*) FROM orders WHERE paid_at < created_at",
		"payment links whose lastPaidAt has not moved": "SELECT count(*) FROM payment_links WHERE paid_count > 0 AND " +
			"last_paid_at IS NULL",
		"orders that failed after they were paid, by events": "SELECT count(*) FROM (" + a.eventOf("order.failed") + ") f JOIN (" +
			a.eventOf("order.paid") + ") p ON p.id = f.id WHERE p.created_at <= f.created_at",
		"payments whose event has another time than their order": "SELECT count(*) FROM (" + a.eventOf("payment_link.paid") +
			") e JOIN orders o ON o.id = e.id WHERE e.created_at <> o.paid_at",
	} {
		n := 0
		require.NoError(a.t, a.db.Reader().QueryRow(query).Scan(&n), query)
		if n > 0 {
			counts[name] = n
		}
	}
	return counts
}

func (a audit) eventOf(kind string) string {
	object := "(convert_from(payload, 'UTF8')::jsonb #>> '{data,id}')::uuid"
	if a.db.Dialect() == dialect.SQLite {
		object = "CAST(payload AS TEXT) ->> '$.data.id'"
	}
	return "SELECT " + object + " AS id, created_at FROM events WHERE type = '" + kind + "'"
}
