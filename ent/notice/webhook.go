package notice

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/fanout"
	"go.storefront.example/ent/id"
)

// Values of a webhook's notice_level: the last notice sent about its failures. It follows the webhook's state:
//
//	healthy ──first failure──► failing ──24 h──► failingDay ──48 h──► failingTwoDays ──automatically──► disabled
//	   ▲                          │                  │                     │                                │
//	   └────── recovered ◄────────┴──────────────────┴─────────────────────┘          a person enables it ◄─┘
//
// A change of the state and the regular sweep both call WriteForWebhook, which compares state and notice_level under the row's
// lock. So each step causes one notice, even if one of the callers dies. While the last notice of a webhook is being delivered,
// WriteForWebhook writes no other, so that they arrive in order. A state that ends while the sink does not answer causes no
// notice.
const (
	healthy = iota
	failing
	failingDay
	failingTwoDays
	disabled
)

const day = 24 * time.Hour

// minGap is the shortest time between a webhook's last notice and its next webhook.failing. So a webhook that fails again
// and again causes at most two notices an hour.
const minGap = time.Hour

// webhookRow has the columns of a webhook that decide whether a notice about it is due.
type webhookRow struct {
	store                          uuid.UUID
	url, description               string
	enabled, disabledAutomatically bool
	failingSince                   sql.NullTime
	level                          int
	lastNoticeID                   uuid.NullUUID
}

// state returns the notice_level that follows from the webhook's state at the time now.
func (w webhookRow) state(now time.Time) int {
	switch failed := now.Sub(w.failingSince.Time); {
	case !w.enabled && w.disabledAutomatically:
		return disabled
	case !w.enabled || !w.failingSince.Valid:
		return healthy
	case failed >= 2*day:
		return failingTwoDays
	case failed >= day:
		return failingDay
	}
	return failing
}

// WriteForWebhook writes a notice about the webhook if one is due at the time now. The caller's transaction may hold the
// lock on the webhook's row. If another transaction holds it, WriteForWebhook writes nothing, and the next Sweep writes the
// notice.
func WriteForWebhook(ctx context.Context, d *db.DB, tx fanout.Tx, webhookID uuid.UUID, now time.Time) error {
	var w webhookRow
	if found, err := scanRow(ctx, tx, "read the notice level of a webhook", `SELECT w.store_id, w.url, w.description, w.enabled,
 w.disabled_automatically, w.failing_since, w.notice_level, w.notice_id
 FROM webhooks w WHERE w.id = $1 AND w.store_id <> $2`+d.RowLock(" OF w"+db.SkipLocked), []any{webhookID, Platform},
		&w.store, &w.url, &w.description, &w.enabled, &w.disabledAutomatically, &w.failingSince, &w.level,
		&w.lastNoticeID); !found {
		return err
	}
	state := w.state(now)
	if state == w.level {
		return nil
	}
	// Write nothing until the last notice is delivered.
	undelivered, err := fanout.Waits(ctx, d, tx, Platform, w.lastNoticeID.UUID)
	if err != nil || undelivered {
		return err
	}
	n := Notice{StoreID: w.store, Page: "/webhooks/" + webhookID.String(),
		About: map[string]any{"webhook": webhookID, "host": host(w.url)}}
	name := "The webhook at " + host(w.url)
	if w.description != "" {
		name += " (" + w.description + ")"
	}
	since := w.failingSince.Time.UTC()
	if w.failingSince.Valid {
		n.About["failingSince"] = timeJSON(since)
	}
	switch {
	case state == healthy && w.level == disabled:
		return nil
	case state != healthy && state < w.level: // the webhook recovered and failed again since the last check: no notice
	case state == healthy:
		n.Type, n.Text = WebhookRecovered, name+" accepts events again. There is nothing to do."
	case state == disabled:
		n.Type = WebhookDisabled
		n.Text = name + " was disabled, because it has accepted no event since " + mailTime(since) + ". Correct what its server " +
			"answers, enable the webhook on its page, and have it send the missed events again from there."
	case state == failing && w.lastNoticeID.Valid && now.Sub(id.Time(w.lastNoticeID.UUID)) < minGap:
		return nil
	case state == failing:
		n.Type, n.Text = WebhookFailing, name+" has not accepted an event since "+mailTime(since)+". We try again. Its page shows what "+
			"its server answers."
	default:
		hours := int(day/time.Hour) * (state - failing)
		n.Type, n.About["hours"] = WebhookFailing, hours
		n.Text = fmt.Sprintf("%s has accepted no event for %d hours, since %s. If that goes on, it will be disabled. Its page shows "+
			"what its server answers.", name, hours, mailTime(since))
	}
	if n.Text != "" {
		written, err := Write(ctx, d, tx, now, n)
		if err != nil || written == uuid.Nil {
			return err
		}
		w.lastNoticeID = uuid.NullUUID{UUID: written, Valid: true}
	}
	_, err = tx.ExecContext(ctx, "UPDATE webhooks SET notice_level = $1, notice_id = $2 WHERE id = $3 AND store_id = $4", state,
		w.lastNoticeID, webhookID, w.store)
	return err
}

// host returns the host of a webhook's URL. The rest of the URL may hold a secret and must not be mailed.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// mailTime returns a time as mails show it.
func mailTime(at time.Time) string { return at.UTC().Format("2 January 2006 at 15:04 UTC") }
