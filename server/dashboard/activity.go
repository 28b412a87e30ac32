package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
)

// activityBody is a page of the activity journal.
type activityBody struct {
	Entries []entry
	Later   bool
	// Older is the address of the next page; empty on the last.
	Older string
}

// entry is a change in the journal, for a reader.
type entry struct {
	*ent.ActivityEntry
	// Who says what kind of actor made it, and What of which kind of thing.
	Who, What string
	Changes   []change
}

// change is a field with its old and new value; New tells that there was none before.
type change struct {
	Field    string
	From, To value
	New      bool
}

// value is what a field was or became: a time, or a text, or nothing.
type value struct {
	Text string
	At   *time.Time
}

// activity lists the journal, newest first.
func (d *dashboard) activity(v *visit) error {
	before := v.r.URL.Query().Get("before")
	rows, err := d.Shop.ListActivityBefore(v, before, pageSize+1)
	if err != nil {
		return err
	}
	body := activityBody{Later: before != ""}
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		body.Older = Path + "/activity?" + url.Values{"before": {rows[pageSize-1].ID.String()}}.Encode()
	}
	for _, row := range rows {
		changes, err := changesOf(row.Changes, v.store.Currency)
		if err != nil {
			return err
		}
		body.Entries = append(body.Entries, entry{row, actors[row.ActorType], spaced(row.Action), changes})
	}
	d.show(v, http.StatusOK, view{Title: "Activity", Section: "activity", Template: "activity", Body: body})
	return nil
}

// actors say who made a change.
var actors = map[string]string{tenant.ActorAPIKey: "API key", tenant.ActorOperator: "Platform", tenant.ActorMember: "Member"}

// spaced makes words of an action: payment_link.created is "Payment link created".
func spaced(action string) string {
	words := strings.NewReplacer("api_key", "API key", "_", " ", ".", " ").Replace(action)
	return strings.ToUpper(words[:min(1, len(words))]) + words[min(1, len(words)):]
}

// changesOf reads the changes of an entry in the order in which they were written.
func changesOf(column []byte, currency string) ([]change, error) {
	d := json.NewDecoder(bytes.NewReader(column))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var changes []change
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var values struct{ From, To any }
		if err := d.Decode(&values); err != nil {
			return nil, err
		}
		field := name.(string)
		changes = append(changes, change{field, said(field, values.From, currency), said(field, values.To, currency), values.From == nil})
	}
	return changes, nil
}

// maxSaidRunes bounds a value in the journal's page: descriptions are long.
const maxSaidRunes = 200

// said is a value for a reader. Amounts are in the store's currency.
func said(field string, v any, currency string) value {
	switch v := v.(type) {
	case nil:
		return value{}
	case bool:
		if v {
			return value{Text: "yes"}
		}
		return value{Text: "no"}
	case json.Number:
		if n, err := v.Int64(); err == nil && strings.HasSuffix(strings.ToLower(field), "amount") {
			return value{Text: amount(n, currency)}
		}
		return value{Text: v.String()}
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil && strings.HasSuffix(field, "At") {
			return value{At: &at}
		}
		return value{Text: cut(v)}
	case []any:
		texts := make([]string, len(v))
		for i, one := range v {
			texts[i] = said("", one, currency).Text
		}
		return value{Text: cut(strings.Join(texts, ", "))}
	}
	text, _ := json.Marshal(v) // what was read from JSON can be written as JSON
	return value{Text: cut(string(text))}
}

func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxSaidRunes {
		return text
	}
	return string([]rune(text)[:maxSaidRunes]) + "…"
}
