// Package notice writes notices to the platform about events that it should forward to the stores' owners: a failing webhook,
// an expiring key, a finished import. A notice is an event like those of owners, written in the transaction that causes it, and
// posted by the workers with signature, retries and journal. The sink, the one address that receives all notices, is a row of
// the table webhooks.
//
// Notices and their sink belong to the store Platform, which has no row in the table stores. So no query of a store's events,
// webhooks or deliveries finds them. Without a sink nothing is written.
package notice

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
)

// subjects are the subjects of mails, by the type of notice; %s is the store's name.
var subjects = map[string]string{
	WebhookFailing:    "A webhook of %s is failing",
	WebhookDisabled:   "A webhook of %s was disabled",
	WebhookRecovered:  "A webhook of %s works again",
	KeyCreated:        "A new API key of %s",
	KeyExpiring:       "An API key of %s expires soon",
	KeyExpired:        "An API key of %s has expired",
	ImportFinished:    "An import into %s is finished",
	BackupFinished:    "The backup is finished",
	BackupFailed:      "A backup failed",
	StoreExported:     "The data of %s was exported",
	StoreDeleted:      "The store %s was deleted",
	CustomerForgotten: "A customer of %s was forgotten",
}

// Platform is the id of the store to which notices, their deliveries and their sink belong.
var Platform = uuid.Nil

// SinkID is the id of the sink's row in the table webhooks.
var SinkID = id.Sink

// Notice is a message to the platform, about one store or about none.
type Notice struct {
	// Type is one of the constants above, such as WebhookFailing.
	Type string
	// StoreID is the store that the notice is about, whose row still exists; Platform for none.
	StoreID uuid.UUID
	// Text says what happened and what to do, in whole sentences for the store's owner.
	Text string
	// Page is the path of the dashboard's page to which the notice links, such as "/keys"; empty for the overview.
	Page string
	// About has details for programs, such as ids and numbers; times are in UTC.
	About map[string]any
}

// envelope is the JSON of a notice as it is stored, signed and sent. If the notice is about no store, its store has the zero
// id and no slug.
type envelope struct {
	ID        uuid.UUID       `json:"id"`
	Type      string          `json:"type"`
	CreatedAt json.RawMessage `json:"createdAt"`
	Store     struct {
		ID   uuid.UUID `json:"id"`
		Slug string    `json:"slug"`
	} `json:"store"`
	Data data `json:"data"`
}

type data struct {
	StoreName    string `json:"storeName"`
	SupportEmail string `json:"supportEmail"`
	Subject      string `json:"subject"`
	// Text ends with the address of the page, if there is one.
	Text  string         `json:"text"`
	Page  *string        `json:"page"`
	About map[string]any `json:"about"`
}

// Write writes a notice in the transaction that causes it; at is the notice's time. It returns the id of the notice's event,
// or the zero id if there is no sink. The workers post the notice after the commit.
func Write(ctx context.Context, d *db.DB, tx fanout.Tx, at time.Time, n Notice) (uuid.UUID, error) {
	dashboard, enabled, err := sink(ctx, tx)
	if err != nil || !enabled {
		return uuid.Nil, err
	}
	e := envelope{ID: id.At(at), Type: n.Type, CreatedAt: timeJSON(at)}
	if e.Data = (data{Subject: subjects[n.Type], Text: n.Text, About: n.About}); n.About == nil {
		e.Data.About = map[string]any{}
	}
	if n.StoreID != Platform {
		if found, err := scanRow(ctx, tx, "read a notice's store",
			"SELECT id, slug, name, support_email FROM stores WHERE id = $1", []any{n.StoreID},
			&e.Store.ID, &e.Store.Slug, &e.Data.StoreName, &e.Data.SupportEmail); !found {
			return uuid.Nil, cmp.Or(err, fmt.Errorf("write a notice: there is no store %s", n.StoreID))
		}
		e.Data.StoreName = invisible.OneLine(e.Data.StoreName) // which is in the subject of a mail
		e.Data.Subject = fmt.Sprintf(e.Data.Subject, e.Data.StoreName)
		if dashboard != "" {
			e.Data.Page = new(dashboard + "/dashboard" + n.Page)
			e.Data.Text += " The page: " + *e.Data.Page
		}
	}
	var payload bytes.Buffer
	encoder := json.NewEncoder(&payload)
	encoder.SetEscapeHTML(false) // & in a name stays readable
	if err := encoder.Encode(e); err != nil {
		return uuid.Nil, fmt.Errorf("encode a notice: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO events (id, store_id, type, payload, created_at) VALUES ($1, $2, $3, $4, $5)",
		e.ID, Platform, n.Type, bytes.TrimSpace(payload.Bytes()), at); err != nil {
		return uuid.Nil, fmt.Errorf("write a notice: %w", err)
	}
	if _, err := fanout.Write(ctx, d, tx, at, Platform, []fanout.Event{{ID: e.ID, Type: n.Type}}); err != nil {
		return uuid.Nil, fmt.Errorf("queue a notice: %w", err)
	}
	return e.ID, nil
}

// sink returns whether there is a sink, and the public address of the dashboard; "" if the address is unknown.
func sink(ctx context.Context, q db.Querier) (dashboard string, enabled bool, err error) {
	enabled, err = scanRow(ctx, q, "look for the address of notices",
		"SELECT description FROM webhooks WHERE id = $1 AND store_id = $2 AND enabled", []any{SinkID, Platform}, &dashboard)
	return dashboard, enabled, err
}

// Sink is the receiver of all notices.
type Sink struct {
	// URL is the address of the receiver, which the caller has checked; "" for no receiver.
	URL string
	// Secret is the secret with which workers sign the notices.
	Secret string
	// Dashboard is the public address of the dashboard's listener, for the links in notices; empty if there is none.
	Dashboard string
}

// SetSink makes all processes send notices only to this sink. If its URL is empty, they send none, and waiting notices are
// cancelled. It fails with seal.ErrUnknownKey as CheckStored does.
func SetSink(ctx context.Context, d *db.DB, secrets *seal.Keyring, s Sink) error {
	set := func(c *hook.Change) error {
		if s.URL == "" {
			_, err := c.Tx.ExecContext(c, `UPDATE webhooks SET enabled = false, epoch = epoch + 1
 WHERE id = $1 AND store_id = $2 AND enabled`, SinkID, Platform)
			return err
		}
		events, err := json.Marshal(slices.Sorted(maps.Keys(subjects)))
		if err != nil {
			return err
		}
		sealed, key := secrets.Seal(s.Secret, SinkID[:])
		args := []any{SinkID, Platform, s.URL, s.Dashboard, string(events), sealed, key, d.Now()}
		if _, err := c.Tx.ExecContext(c, `INSERT INTO webhooks
 (id, store_id, url, description, events, secret, secret_key, created_at, updated_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8) ON CONFLICT DO NOTHING`, args...); err != nil {
			return err
		}
		_, err = c.Tx.ExecContext(c, `UPDATE webhooks SET url = $3, description = $4, events = $5, secret = $6, secret_key = $7,
 enabled = true, updated_at = $8,
 failing_since = CASE WHEN url = $9 THEN failing_since END WHERE id = $1 AND store_id = $2`, append(args, s.URL)...)
		return err
	}
	if s.URL != "" {
		if err := secrets.CheckStored(ctx, d); err != nil {
			return fmt.Errorf("--notices-secret is not stored: %w", err)
		}
	}
	if err := hook.Run(ctx, d, set); err != nil {
		return fmt.Errorf("set the address of notices: %w", err)
	}
	return nil
}

// FailingFor returns for how long notices have failed to reach the sink; 0 if they reach it or there is no sink.
func FailingFor(ctx context.Context, d *db.DB) (time.Duration, error) {
	var since time.Time
	if found, err := scanRow(ctx, d.Reader(), "read how the address of notices does",
		"SELECT failing_since FROM webhooks WHERE id = $1 AND store_id = $2 AND enabled AND failing_since IS NOT NULL",
		[]any{SinkID, Platform}, &since); !found {
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
