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

// pageSize is how many entries of a list a page shows.
const pageSize = 25

// filter is what a page of a list shows: the parameters of its address that are set.
type filter struct {
	url.Values
	// from and until are the times between which the entries are; nil means any.
	from, until *timestamppb.Timestamp
	// Older is the address of the next page; empty on the last.
	Older string
	// LookedBackTo is the time of the oldest entry that was looked through, if the search ended before it was complete.
	LookedBackTo *timestamppb.Timestamp
}

// filterOf reads the parameters with these names, those of a time and the place in the list.
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

// timeOf reads the parameter of a time, and writes it as the form shows it.
func (f filter) timeOf(name string) (*timestamppb.Timestamp, error) {
	if !f.Has(name) {
		return nil, nil
	}
	at, err := timeOf(name, f.Get(name))
	f.Set(name, at.Format(inputTime))
	return timestamppb.New(at), err
}

// Later reports that this is not the first page.
func (f filter) Later() bool { return f.Has("before") }

// Filtered reports that anything is looked for.
func (f filter) Filtered() bool { return len(f.Values) > 1 || len(f.Values) == 1 && !f.Later() }

// next sets the address of the next page, which has this token; without one, this is the last.
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

// inputTimes are the forms of a time from a form: as a browser's own field writes one, in UTC, without and
// with seconds; and as the script sends it, with its zone.
var inputTimes = []string{"2006-01-02T15:04", inputTime, time.RFC3339}

const inputTime = "2006-01-02T15:04:05"

// timeOf reads the time in a field of a form.
func timeOf(name, text string) (time.Time, error) {
	for _, form := range inputTimes {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, apierr.Invalid("The time cannot be read.", apijson.Field{Name: name,
		Message: "must be a date and time such as 2026-10-01T12:00, in UTC"})
}
