package worker

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

var histories = map[bool]int{true: 40, false: 8}[need.Required()]

// pair is a delivery: an event and the webhook that must get it.
type pair struct{ event, webhook uuid.UUID }

// subscriber is a webhook in the model: the state that the history expects of the webhook.
type subscriber struct {
	merchant merchant
	id       uuid.UUID
	types    []string
	enabled  bool
	deleted  bool
	since    time.Time // when the webhook first failed after its last success; zero while it does not fail
	ended    bool      // true if the webhook was ever disabled or deleted
	epoch    int64
	mood     int // the status that the webhook's receiver answers with, or drop
}

type history struct {
	*installation
	rt          *rapid.T
	merchants   []merchant
	subscribers []*subscriber
	expected    map[pair]bool
	uncertain   map[pair]bool     // deliveries whose receivers may have got a request that the journal does not show
	late        []dbtest.Delivery // deliveries whose leases were lost, as the database had them before the results were written
	forged      []request         // requests that are not signed with the webhook's secret of the moment
	workers     [2]*stepped
}

// Two workers, which die or hang, and everything else act in random order. In the end every event's delivery to every webhook
// is finished.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, in *installation) {
		made, broken := 0, false
		rapid.Check(t, func(rt *rapid.T) {
			if !broken && made >= histories {
				return
			}
			made++
			defer func() { broken = broken || rt.Failed() }()
			h := newHistory(in, rt)
			for range 3 {
				rt.Repeat(map[string]func(*rapid.T){
					"emit": h.emit, "emit more": h.emit, "create": h.create, "mood": h.mood, "subscribe": h.subscribe, "rotate": h.rotate,
					"disable": h.disable, "enable": h.enable, "enable more": h.enable, "delete": h.delete,
					"pass": h.pass, "pass more": h.pass, "begin": h.begin, "finish": h.finish, "kill": h.kill, "late": h.beLate,
					"advance": h.advance, "advance more": h.advance,
				})
			}
			h.end()
		})
		require.GreaterOrEqual(t, made, histories, "-rapid.checks asks for fewer")
	})
}

func newHistory(in *installation, rt *rapid.T) *history {
	in.exec("DELETE FROM deliveries")
	in.receiver.forget()
	h := &history{installation: in, rt: rt, expected: map[pair]bool{}, uncertain: map[pair]bool{}}
	in.receiver.answers(func(r request) int {
		for _, s := range h.subscribers {
			if s.id == r.webhook {
				if signature.Verify(r.header.Get(signature.Header), r.body, in.secrets[s.id], in.Now(), 0) != nil {
					h.forged = append(h.forged, r)
				}
				return s.mood
			}
		}
		return http.StatusGone
	})
	for range 2 {
		h.merchants = append(h.merchants, in.newMerchant("s"+uuid.NewString()))
		h.create(rt)
	}
	for i := range h.workers {
		h.hire(i)
	}
	return h
}

// hire puts a new worker in the place of the worker i, which is 0 or 1.
func (h *history) hire(i int) {
	w := h.worker(func(c *Config) { c.Timeout = egress.DefaultTimeout })
	w.t, w.writing, w.written = h.rt, h.remember, h.learn
	h.workers[i] = w
}

func (h *history) draw(t *rapid.T) *subscriber {
	return rapid.SampledFrom(h.subscribers).Draw(t, "webhook")
}

var bothTypes = []string{hook.OrderPaid, hook.OrderFailed}

func drawTypes(t *rapid.T) []string {
	return rapid.SampledFrom([][]string{bothTypes, bothTypes[:1], bothTypes[1:]}).Draw(t, "types")
}

func (h *history) create(t *rapid.T) {
	if len(h.subscribers) >= 6 {
		t.Skip()
	}
	s := &subscriber{merchant: rapid.SampledFrom(h.merchants).Draw(t, "merchant"), types: drawTypes(t), enabled: true, epoch: 1,
		mood: drawMood(t)}
	s.id = s.merchant.newWebhook(s.types...)
	// The receiver reads the subscribers when it answers.
	h.receiver.mu.Lock()
	defer h.receiver.mu.Unlock()
	h.subscribers = append(h.subscribers, s)
}

func (h *history) mood(t *rapid.T) { h.setMood(h.draw(t), drawMood(t)) }

func (h *history) setMood(s *subscriber, mood int) {
	h.receiver.mu.Lock()
	defer h.receiver.mu.Unlock()
	s.mood = mood
}

func drawMood(t *rapid.T) int {
	return rapid.SampledFrom([]int{http.StatusNoContent, http.StatusOK, http.StatusInternalServerError, http.StatusFound,
		drop}).Draw(t, "mood")
}

func (h *history) emit(t *rapid.T) {
	m := rapid.SampledFrom(h.merchants).Draw(t, "merchant")
	kind := rapid.SampledFrom(bothTypes).Draw(t, "kind")
	for _, event := range m.emit(kind, rapid.IntRange(1, 6).Draw(t, "events")) {
		for _, s := range h.subscribers {
			if s.wants(m, kind) {
				h.expected[pair{event, s.id}] = true
			}
		}
	}
}

// wants reports whether s gets a delivery of such an event in m's store now.
func (s *subscriber) wants(m merchant, kind string) bool {
	return s.merchant.id == m.id && s.enabled && !s.deleted && slices.Contains(s.types, kind)
}

// alive returns a random webhook that is not deleted.
func (h *history) alive(t *rapid.T) *subscriber {
	s := h.draw(t)
	if s.deleted {
		t.Skip()
	}
	return s
}

func (h *history) subscribe(t *rapid.T) {
	s := h.alive(t)
	s.types = drawTypes(t)
	s.merchant.edit(s.id, func(u *ent.WebhookUpdateOne) { u.SetEvents(s.types) })
}

func (h *history) rotate(t *rapid.T) {
	s := h.alive(t)
	secret := signature.NewSecret()
	sealed, key := h.ring.Seal(secret, s.id[:])
	s.merchant.edit(s.id, func(u *ent.WebhookUpdateOne) { u.SetSecret(sealed).SetSecretKey(key) })
	h.receiver.mu.Lock()
	defer h.receiver.mu.Unlock()
	h.secrets[s.id] = secret
}

func (h *history) disable(t *rapid.T) {
	s := h.alive(t)
	s.enabled, s.ended = false, true
	s.epoch++
	s.merchant.change(func(c *hook.Change) error {
		if err := c.MarkLocked(c.Tx.Webhook.GetX(c, s.id)); err != nil {
			return err
		}
		if err := c.Tx.Webhook.UpdateOneID(s.id).SetEnabled(false).Exec(c); err != nil {
			return err
		}
		return queue.Cancel(c, s.merchant.id, s.id)
	})
}

func (h *history) enable(t *rapid.T) {
	s := h.alive(t)
	s.enabled, s.since = true, time.Time{}
	s.merchant.enable(s.id)
}

func (h *history) delete(t *rapid.T) {
	s := h.alive(t)
	if rapid.IntRange(0, 3).Draw(t, "rarely") != 0 {
		t.Skip()
	}
	s.deleted, s.ended = true, true
	s.merchant.change(func(c *hook.Change) error {
		if _, err := c.Tx.ExecContext(c, "DELETE FROM webhooks WHERE id = $1", s.id); err != nil {
			return err
		}
		return queue.Cancel(c, s.merchant.id, s.id)
	})
}

func (h *history) drawWorker(t *rapid.T) int {
	return rapid.IntRange(0, len(h.workers)-1).Draw(t, "worker")
}

func (h *history) pass(t *rapid.T) {
	w := h.workers[h.drawWorker(t)]
	w.finish() // writes the results of the attempts that are still running
	w.pass()
}

// begin makes a worker start attempts and stop before it writes their results.
func (h *history) begin(t *rapid.T) { h.beginOn(h.workers[h.drawWorker(t)]) }

func (h *history) beginOn(w *stepped) {
	w.finish()
	w.begin()
	for _, d := range dbtest.Deliveries(h.rt, h.DB, "lease IS NOT NULL") {
		h.uncertain[pair{d.EventID, d.WebhookID}] = true
	}
	// The history may change the statuses that receivers answer with.
	answered := make([]endedLease, w.lanes.inFlight)
	for i := range answered {
		answered[i] = w.one()
	}
	for _, r := range answered {
		w.results <- r
	}
}

func (h *history) finish(t *rapid.T) { h.workers[h.drawWorker(t)].finish() }

// beLate stops a worker until its leases have ended and the other has started the same attempts. The late one writes first.
func (h *history) beLate(t *rapid.T) {
	i := h.drawWorker(t)
	slow, quick := h.workers[i], h.workers[1-i]
	quick.finish()
	h.beginOn(slow)
	h.clock.advance(slow.leaseDuration())
	for _, s := range h.subscribers {
		h.setMood(s, drawMood(t))
	}
	h.beginOn(quick)
	slow.finish()
	quick.finish()
}

func (h *history) kill(t *rapid.T) {
	i := h.drawWorker(t)
	h.workers[i].die()
	h.hire(i)
}

func (h *history) advance(t *rapid.T) {
	h.clock.advance(rapid.SampledFrom([]time.Duration{
		100 * time.Millisecond, 4 * time.Second, time.Minute, 10 * time.Minute, 2 * time.Hour, 13 * time.Hour, 30 * time.Hour,
		71 * time.Hour,
	}).Draw(t, "time"))
}
