package dashboard

import (
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/queue"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/worker/egress"
)

var functions = template.FuncMap{
	"once":      newFormKey,
	"lifetimes": func() []lifetime { return lifetimes },
	"windows":   func() []window { return windows },
	"stamp":     timestamppb.New,
	"iso":       func(t *timestamppb.Timestamp) string { return t.AsTime().Format("2006-01-02T15:04:05.000Z") },
	"day":       func(t *timestamppb.Timestamp) string { return t.AsTime().Format("2 Jan 2006, 15:04:05 UTC") },
	"exact":     func(t *timestamppb.Timestamp) string { return t.AsTime().Format("2006-01-02 15:04:05.000 UTC") },
	"left":      func(now time.Time, t *timestamppb.Timestamp) string { return timeLeft(now, t.AsTime()) },
	"ago":       func(now time.Time, t *timestamppb.Timestamp) string { return ago(now, t.AsTime()) },
	"waiting":   waiting,
	"took":      formatMilliseconds,
	"grouped":   grouped,
	"plural":    plural,
	// ids that are made within a minute begin with the same digits
	"short":     func(id string) string { return id[max(0, len(id)-8):] },
	"badge":     badge,
	"state":     stateOf,
	"parts":     parts,
	"unbroken":  func(part string) bool { return len(part) <= maxUnbroken },
	"shortened": func(text string) string { return cut(text, maxNameRunes) },
	"split":     func(text string) []string { return strings.Split(text, "`") },
	"odd":       func(i int) bool { return i%2 == 1 },
	"means":     func(a *adminv1.Delivery_Attempt) string { return egress.Meaning(a.GetError()) },
	"refusal":   refusalOf,
	"names":     refusedLabel,
	"role": func(role string) string {
		return map[string]string{adminv1.Session_owner.String(): "Owner", adminv1.Session_admin.String(): "Admin"}[role]
	},
	"spaced":  spaced,
	"actor":   func(t adminv1.ActivityEntry_Actor_Type) string { return actors[t] },
	"meaning": func(name string) string { return meanings[name] },
	"last":    lastAttempt,
	"result":  attemptResult,
	"label":   func(field string) string { return labels[field] },
	"field":   fieldProblems.field,
	"secret":  func(label, text, hint string) secret { return secret{label, text, hint} },
	"rows": func(f frame, caption string, webhook bool, deliveries []deliveryRow) rows {
		return rows{f, caption, webhook, deliveries}
	},
}

type secret struct{ Label, Text, Hint string }

type rows struct {
	frame
	Caption    string
	Webhook    bool
	Deliveries []deliveryRow
}

// length uses at most two units, such as days and hours.
func length(d time.Duration) string {
	d = max(d, 0)
	days, hours, minutes := int(d/(24*time.Hour)), int(d/time.Hour)%24, int(d/time.Minute)%60
	two := func(a int, unitA string, b int, unitB string) string {
		if b == 0 {
			return strconv.Itoa(a) + " " + unitA
		}
		return strconv.Itoa(a) + " " + unitA + " " + strconv.Itoa(b) + " " + unitB
	}
	switch {
	case days > 0:
		return two(days, "d", hours, "h")
	case hours > 0:
		return two(hours, "h", minutes, "min")
	case minutes > 0:
		return strconv.Itoa(minutes) + " min"
	}
	return strconv.Itoa(int(d/time.Second)) + " s"
}

func timeLeft(now, t time.Time) string {
	if t.Sub(now) < time.Second {
		return "now"
	}
	return "in " + length(t.Sub(now))
}

func ago(now, t time.Time) string {
	if now.Sub(t) < time.Second {
		return "just now"
	}
	return length(now.Sub(t)) + " ago"
}

func formatMilliseconds(ms int64) string {
	switch {
	case ms == 0:
		return "under 1 ms"
	case ms < 1000:
		return strconv.FormatInt(ms, 10) + " ms"
	}
	return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s"
}

func grouped(n int64) string { return humanize.Comma(n) }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// waiting says how many deliveries wait for another attempt, and when it is due, or "".
func waiting(now time.Time, r queue.Retries) string {
	if r.Count == 0 {
		return ""
	}
	text := plural(r.Count, "delivery waits", "deliveries wait")
	if r.Count > queue.MaxRetries {
		text = "More than " + grouped(queue.MaxRetries) + " deliveries wait"
	}
	return text + " for another attempt, the next " + timeLeft(now, *r.Next) + "."
}

// badge returns the CSS class of a state's badge, which also has the state as a word.
func badge(state string) string {
	switch state {
	case adminv1.Delivery_succeeded.String(), adminv1.Key_active.String(), adminv1.Webhook_enabled.String():
		return "good"
	case adminv1.Delivery_failed.String(), adminv1.Key_revoked.String():
		return "bad"
	case adminv1.Webhook_failing.String():
		return "warn"
	case adminv1.Delivery_pending.String():
		return "busy"
	}
	return "quiet"
}

// state describes a delivery's state to a reader. Live is true if an attempt is due or being made.
type state struct {
	Text, Look string
	Live       bool
}

// stateOf says of a pending delivery whether an attempt has failed, and when the next is due.
func stateOf(now time.Time, d *adminv1.Delivery) state {
	s := state{Text: d.GetStatus().String(), Look: badge(d.GetStatus().String())}
	if d.GetStatus() != adminv1.Delivery_pending {
		return s
	}
	next := d.GetNextAttemptAt()
	s.Live = next == nil || !next.AsTime().After(now)
	if d.GetAttemptCount() > 0 {
		s.Text, s.Look = retrying+" now", "warn"
		if next != nil {
			s.Text = retrying + ", next " + timeLeft(now, next.AsTime())
		}
	}
	return s
}

const maxNameRunes = 60

// maxUnbroken is how many characters of a URL stay on one line.
const maxUnbroken = 24

// parts splits an address where a line may break: after slashes and dots.
func parts(address string) []string {
	var all []string
	for part := range strings.SplitAfterSeq(address, "/") {
		all = append(all, strings.SplitAfter(part, ".")...)
	}
	return slices.DeleteFunc(all, func(part string) bool { return part == "" })
}

// lastAttempt is nil before the first attempt has ended.
func lastAttempt(d *adminv1.Delivery) *adminv1.Delivery_Attempt {
	if n := len(d.GetAttempts()); n > 0 {
		return d.GetAttempts()[n-1]
	}
	return nil
}

// attemptResult is the status of the answer, or why there was none.
func attemptResult(a *adminv1.Delivery_Attempt) string {
	status := strconv.Itoa(int(a.GetStatusCode()))
	switch {
	case a.StatusCode == nil:
		return a.GetError()
	case a.GetError() == "" || a.GetError() == "status "+status:
		return status
	}
	return status + ", " + a.GetError()
}
