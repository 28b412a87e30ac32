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

// pageSize is how many entries a page of a list shows.
const pageSize = 25

// filter has the filters and the position of a list, which are the parameters of the page's address.
type filter struct {
	url.Values
	// from and until bound the times of the entries; nil means no bound.
	from, until *timestamppb.Timestamp
	// Older is the address of the page with the next older entries; empty on the last page.
	Older string
	// LookedBackTo is the time to which a search looked back, if it stopped before the oldest entry; otherwise nil.
	LookedBackTo *timestamppb.Timestamp
}

// filterOf reads the page's address: the filters with these names, the bounds of time, and the position in the list.
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

// timeOf reads a parameter that is a time. It also rewrites the parameter in the form of the page's input field.
func (f filter) timeOf(name string) (*timestamppb.Timestamp, error) {
	if !f.Has(name) {
		return nil, nil
	}
	at, err := timeOf(name, f.Get(name))
	f.Set(name, at.Format(inputTime))
	return timestamppb.New(at), err
}

// Later reports whether the page is not the first of its list.
func (f filter) Later() bool { return f.Has("before") }

// Filtered reports whether the list is filtered.
func (f filter) Filtered() bool { return len(f.Values) > 1 || len(f.Values) == 1 && !f.Later() }

// next sets Older from the token of the next page. An empty token means that this page is the last.
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

// inputTimes are the accepted formats of a time in a filter. A browser's input field sends UTC with or without seconds; the
// page's script sends a time with its zone.
var inputTimes = []string{"2006-01-02T15:04", inputTime, time.RFC3339}

const inputTime = "2006-01-02T15:04:05"

// timeOf reads text as a date and time in UTC. It refuses any other text with validation_failed for the field name.
func timeOf(name, text string) (time.Time, error) {
	for _, form := range inputTimes {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, apierr.Invalid("The time cannot be read.", apijson.Field{Name: name,
		Message: "must be a date and time such as 2026-10-01T12:00, in UTC"})
}
