package dashboard

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/apierr"
)

const pageSize = 25

type filter struct {
	url.Values
	// from and until are nil without a bound.
	from, until *timestamppb.Timestamp
	// Older is the address of the next page; empty on the last.
	Older string
	// LookedBackTo is how far a search looked if it stopped before the oldest entry, or nil.
	LookedBackTo *timestamppb.Timestamp
}

func filterOf(v *visit, names ...string) (f filter, err error) {
	f.Values = url.Values{}
	for name, values := range v.r.URL.Query() {
		if text := strings.TrimSpace(values[0]); text != "" && slices.Contains(append(names, "since", "until", "before"), name) {
			f.Set(name, text)
		}
	}
	if f.from, err = f.timeOf("since"); err == nil {
		f.until, err = f.timeOf("until")
	}
	return f, err
}

// timeOf also rewrites the parameter as the page's input field needs it.
func (f filter) timeOf(name string) (*timestamppb.Timestamp, error) {
	if !f.Has(name) {
		return nil, nil
	}
	at, err := timeOf(name, f.Get(name))
	f.Set(name, at.Format(inputTime))
	return timestamppb.New(at), err
}

// Later is true unless the page is the first.
func (f filter) Later() bool { return f.Has("before") }

func (f filter) Filtered() bool { return len(f.Values) > 1 || len(f.Values) == 1 && !f.Later() }

// next sets Older. An empty token means that this page is the last.
func (f *filter) next(v *visit, token string) {
	if token == "" {
		return
	}
	older := url.Values{"before": {token}}
	for name, values := range f.Values {
		if name != "before" {
			older[name] = values
		}
	}
	f.Older = v.r.URL.Path + "?" + older.Encode()
}

// inputTimes are what a browser's input field sends, in UTC, and what the page's script sends, with a zone.
var inputTimes = []string{"2006-01-02T15:04", inputTime, time.RFC3339}

const inputTime = "2006-01-02T15:04:05"

// timeOf refuses what is no time with validation_failed for the field name.
func timeOf(name, text string) (time.Time, error) {
	for _, form := range inputTimes {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, apierr.Invalid("The time cannot be read.", apijson.Field{Name: name,
		Message: "must be a date and time such as 2026-10-01T12:00, in UTC"})
}
