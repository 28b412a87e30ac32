// Package notice writes notices: events that tell the platform of a failing webhook, an expiring key or a finished import. A
// notice is an event without a store, which goes to the webhook without a store. Both have the id NoStore as their store_id, so
// that no query of a store's events, webhooks or deliveries finds them. All else is as for every event: recipients, signature,
// retries, journal and retention.
//
//	change of a row ────────┐
//	Sweep: a time has come ─┴─► Write: event, delivery ──► COMMIT ──► worker ──► webhook without a store
//
// Several processes sweep. A row of the table clock_marks has the time up to which one of them has swept, and is locked
// meanwhile. So each time that comes is swept once, also after a worker has died.
package notice

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/id"
	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/seal"
)

// The types of notices. No webhook of a store can subscribe to them.
const (
	WebhookFailing    = "webhook.failing"
	WebhookDisabled   = "webhook.disabled"
	WebhookRecovered  = "webhook.recovered"
	KeyCreated        = "key.created"
	KeyExpiring       = "key.expiring"
	KeyExpired        = "key.expired"
	ImportFinished    = "import.finished"
	BackupFinished    = "backup.finished"
	BackupFailed      = "backup.failed"
	StoreExported     = "store.exported"
	StoreDeleted      = "store.deleted"
	CustomerForgotten = "customer.forgotten"
	// CertificateFailing is about a host name whose certificate cannot be ordered or renewed.
	CertificateFailing = "certificate.failing"
)

// types are all types of notices.
var types = []string{
	WebhookFailing, WebhookDisabled, WebhookRecovered, KeyCreated, KeyExpiring, KeyExpired, ImportFinished, BackupFinished, BackupFailed,
	StoreExported, StoreDeleted, CustomerForgotten, CertificateFailing,
}

// NoStore is the store_id of notices, of their deliveries and of their webhook. No store has this id, because no row may have
// it (id.IsReserved).
var NoStore = uuid.Nil

// Notice is an event about one store, or about the installation.
type Notice struct {
	// Type is one of the constants above, such as WebhookFailing.
	Type string
	// StoreID is the store that the notice is about, whose row still exists; NoStore for none.
	StoreID uuid.UUID
	// Data has ids, names, numbers and times by the names of their JSON. Write makes each string one line.
	Data map[string]any
}

// envelope is the JSON of a notice, which has the members of every event. If the notice is about no store, its store has the
// zero id and no slug.
type envelope struct {
	ID        uuid.UUID       `json:"id"`
	Type      string          `json:"type"`
	CreatedAt json.RawMessage `json:"createdAt"`
	Store     struct {
		ID   uuid.UUID `json:"id"`
		Slug string    `json:"slug"`
	} `json:"store"`
	Data map[string]any `json:"data"`
}

// Write writes a notice in the transaction that causes it; at is the notice's time. It writes nothing if no webhook gets the
// notice. To n.Data it adds the store's name as storeName, and its e-mail for buyers as supportEmail.
func Write(ctx context.Context, d *db.DB, tx fanout.Tx, at time.Time, n Notice) error {
	e := envelope{ID: id.At(at), Type: n.Type, CreatedAt: timeJSON(at), Data: map[string]any{}}
	recipients, err := fanout.Write(ctx, d, tx, at, NoStore, []fanout.Event{{ID: e.ID, Type: n.Type}})
	if err != nil || recipients == 0 {
		return err
	}
	for name, value := range n.Data {
		switch v := value.(type) {
		case string:
			value = invisible.OneLine(v)
		case time.Time:
			value = timeJSON(v)
		}
		e.Data[name] = value
	}
	if n.StoreID != NoStore {
		var name, email string
		if found, err := scanRow(ctx, tx, "read a notice's store",
			"SELECT id, slug, name, support_email FROM stores WHERE id = $1", []any{n.StoreID},
			&e.Store.ID, &e.Store.Slug, &name, &email); !found {
			return cmp.Or(err, fmt.Errorf("write a notice: there is no store %s", n.StoreID))
		}
		e.Data["storeName"], e.Data["supportEmail"] = invisible.OneLine(name), email
	}
	var payload bytes.Buffer
	encoder := json.NewEncoder(&payload)
	encoder.SetEscapeHTML(false) // & in a name stays readable
	if err := encoder.Encode(e); err != nil {
		return fmt.Errorf("encode a notice: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, $3, $4, $5)",
		e.ID, NoStore, n.Type, bytes.TrimSpace(payload.Bytes()), at); err != nil {
		return fmt.Errorf("write a notice: %w", err)
	}
	return nil
}

// SetWebhook makes all processes send notices only to this URL, which the caller has checked, signed with this secret. If the
// URL is empty, they send none, and waiting notices are cancelled. It fails with seal.ErrUnknownKey as CheckStored does.
func SetWebhook(ctx context.Context, d *db.DB, secrets *seal.Keyring, url, secret string) error {
	set := func(c *hook.Change) error {
		if url == "" {
			_, err := c.Tx.ExecContext(c, "UPDATE webhooks SET enabled = false, epoch = epoch + 1 WHERE store_id = $1 AND enabled", NoStore)
			return err
		}
		events, err := json.Marshal(types)
		if err != nil {
			return err
		}
		// The secret follows, because it is sealed under the id of the row, which another process may have added first.
		if _, err := c.Tx.ExecContext(c, `INSERT INTO webhooks (id, store_id, url, events, secret, secret_key, created_at, updated_at)
 VALUES ($1, $2, $3, $4, $5, '', $6, $6) ON CONFLICT DO NOTHING`, id.At(d.Now()), NoStore, url, string(events), []byte{}, d.Now()); err != nil {
			return err
		}
		var row uuid.UUID
		if _, err := scanRow(c, c.Tx, "find the webhook without a store", "SELECT id FROM webhooks WHERE store_id = $1",
			[]any{NoStore}, &row); err != nil {
			return err
		}
		sealed, key := secrets.Seal(secret, row[:])
		_, err = c.Tx.ExecContext(c, `UPDATE webhooks SET url = $2, events = $3, secret = $4, secret_key = $5, enabled = true, updated_at = $6,
 failing_since = CASE WHEN url = $7 THEN failing_since END WHERE store_id = $1`, NoStore, url, string(events), sealed, key, d.Now(), url)
		return err
	}
	if url != "" {
		if err := secrets.CheckStored(ctx, d); err != nil {
			return fmt.Errorf("--notices-secret is not stored: %w", err)
		}
	}
	if err := hook.Run(ctx, d, set); err != nil {
		return fmt.Errorf("set the address of notices: %w", err)
	}
	return nil
}

// FailingFor returns for how long notices have failed to arrive; 0 if they arrive or no webhook gets them.
func FailingFor(ctx context.Context, d *db.DB) (time.Duration, error) {
	var since time.Time
	if found, err := scanRow(ctx, d.Reader(), "read how the address of notices does",
		"SELECT failing_since FROM webhooks WHERE store_id = $1 AND enabled AND failing_since IS NOT NULL", []any{NoStore}, &since); !found {
		return 0, err
	}
	return max(0, d.Now().Sub(since)), nil
}

// scanRow scans the only row of a query into dest. found is false if the query returns no row. An error's text begins with
// operation.
func scanRow(ctx context.Context, q db.Querier, operation, query string, args []any, dest ...any) (found bool, err error) {
	for row := range db.Rows(ctx, q, query, args...) {
		if err := row.Scan(dest...); err != nil {
			return false, fmt.Errorf("%s: %w", operation, err)
		}
		found = true
	}
	return found, nil
}

// timeJSON returns a time in the API's JSON form.
func timeJSON(at time.Time) json.RawMessage { return apijson.AppendTime(nil, at) }
