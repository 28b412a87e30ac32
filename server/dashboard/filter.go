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

// filter has the parameters of a list page's address that are set.
type filter struct {
	url.Values
	// from and until bound the times of the entries; nil means no bound.
	from, until *timestamppb.Timestamp
	// Older is the address of the next page; empty on the last page.
	Older string
	// LookedBackTo is the time at which the search stopped, if it has not searched all older entries; nil if it has.
	LookedBackTo *timestamppb.Timestamp
}

// filterOf reads the parameters with these names, the bounds of time and the position in the list.
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

// timeOf reads a time parameter, and rewrites it as the form shows it.
func (f filter) timeOf(name string) (*timestamppb.Timestamp, error) {
	if !f.Has(name) {
		return nil, nil
	}
	at, err := timeOf(name, f.Get(name))
	f.Set(name, at.Format(inputTime))
	return timestamppb.New(at), err
}

// Later reports whether this is not the first page.
func (f filter) Later() bool { return f.Has("before") }

// Filtered reports whether any filter is set.
func (f filter) Filtered() bool { return len(f.Values) > 1 || len(f.Values) == 1 && !f.Later() }

// next sets the address of the next page from its token; without a token this is the last page.
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

// inputTimes are the formats of a time that a filter accepts: UTC with or without seconds, from the browser's own field, and
// with a zone, from the script.
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
