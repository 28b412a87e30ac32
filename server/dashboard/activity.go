package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/validate"
)

type activityBody struct {
	filter
	Entries []entry
	Kinds   []string
	Actors  []adminv1.ActivityEntry_Actor_Type
}

type entry struct {
	*adminv1.ActivityEntry
	// Who is the kind of actor, and What the action, in words.
	Who, What string
	// Kind is the kind of resource in words. Name and To, as resourceURL returns it, may be "".
	Kind, Name, To string
	Changes        []change
}

// change has no old value if New is true.
type change struct {
	Field    string
	From, To value
	New      bool
}

// value is At for a time, otherwise Text. Both are empty for no value.
type value struct {
	Text string
	At   *timestamppb.Timestamp
}

func (d *dashboard) activity(v *visit) error {
	f, err := filterOf(v, "kind", "by", "who")
	if err != nil {
		return err
	}
	found, err := d.Operator.ListActivity(v, &adminv1.ListActivityRequest{
		ResourceType: f.Get("kind"), ActorName: cut(f.Get("who"), maxShownRunes), Since: f.from, Until: f.until,
		ActorType: adminv1.ActivityEntry_Actor_Type(adminv1.ActivityEntry_Actor_Type_value[f.Get("by")]).Enum(),
		PageToken: f.Get("before"), PageSize: new(int32(pageSize)),
	})
	if err != nil {
		return err
	}
	f.next(v, found.GetNextPageToken())
	f.LookedBackTo = found.GetLookedBackTo()
	body := activityBody{filter: f, Kinds: kinds, Actors: slices.Sorted(maps.Keys(actors))}
	changed, idsByType := make([][]change, len(found.GetEntries())), map[string][]string{}
	for i, e := range found.GetEntries() {
		if changed[i], err = changesOf([]byte(e.GetChanges()), v.store.Currency); err != nil {
			return err
		}
		idsByType[e.GetResource().GetType()] = append(idsByType[e.GetResource().GetType()], e.GetResource().GetId())
		for _, c := range changed[i] {
			if kind, ok := referred[c.Field]; ok {
				idsByType[kind] = append(idsByType[kind], c.From.Text, c.To.Text)
			}
		}
	}
	names, deleted, err := d.Operator.NamesOf(v, idsByType)
	if err != nil {
		return err
	}
	for i, e := range found.GetEntries() {
		for j, c := range changed[i] {
			if _, ok := referred[c.Field]; ok {
				changed[i][j].From.Text = cmp.Or(names[c.From.Text], deleted[c.From.Text], c.From.Text)
				changed[i][j].To.Text = cmp.Or(names[c.To.Text], deleted[c.To.Text], c.To.Text)
			}
		}
		body.Entries = append(body.Entries, entry{
			ActivityEntry: e, Who: actors[e.GetActor().GetType()], What: spaced(e.GetAction()),
			Kind: spaced(e.GetResource().GetType()), Name: cut(cmp.Or(names[e.GetResource().GetId()], deleted[e.GetResource().GetId()]),
				maxShownRunes),
			To: resourceURL(e.GetResource(), names), Changes: changed[i],
		})
	}
	return d.page(v, view{Title: "Activity", Section: "activity", Template: "activity", Body: body})
}

var kinds = []string{"product", "order", "customer", "payment_link", "api_key", "webhook", "delivery", "store", "session", "sign_in_link"}

// referred has the kind of the resource whose id a field has.
var referred = map[string]string{"customerId": "customer", "paymentLinkId": "payment_link", "webhookId": "webhook"}

// resourceURL returns the page of a webhook, the line of a key or, for others, the search for the id. It returns "" for a
// resource that names lacks.
func resourceURL(r *adminv1.ActivityEntry_Resource, names map[string]string) string {
	if names[r.GetId()] == "" {
		return ""
	}
	switch r.GetType() {
	case "webhook":
		return Path + "/webhooks/" + r.GetId()
	case "api_key":
		return Path + "/keys#" + r.GetId()
	}
	return Path + "/deliveries?" + url.Values{"q": {r.GetId()}}.Encode()
}

var actors = map[adminv1.ActivityEntry_Actor_Type]string{
	adminv1.ActivityEntry_Actor_api_key: "API key", adminv1.ActivityEntry_Actor_operator: "Platform",
	adminv1.ActivityEntry_Actor_member: "Member",
}

func spaced(action string) string {
	words := strings.NewReplacer("api_key", "API key", "_", " ", ".", " ").Replace(action)
	return strings.ToUpper(words[:min(1, len(words))]) + words[min(1, len(words)):]
}

// changesOf keeps the order of the JSON object in column. currency is that of amounts.
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
		changes = append(changes, change{field, displayValue(field, values.From, currency), displayValue(field, values.To, currency),
			values.From == nil})
	}
	return changes, nil
}

const maxShownRunes = 200

func displayValue(field string, v any, currency string) value {
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
			return value{Text: validate.FormatAmount(n, currency)}
		}
		if n, err := v.Int64(); err == nil {
			return value{Text: grouped(n)}
		}
		return value{Text: v.String()}
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil && strings.HasSuffix(field, "At") {
			return value{At: timestamppb.New(at)}
		}
		return value{Text: cut(v, maxShownRunes)}
	case []any:
		texts := make([]string, len(v))
		for i, item := range v {
			texts[i] = displayValue("", item, currency).Text
		}
		return value{Text: cut(strings.Join(texts, ", "), maxShownRunes)}
	}
	text, _ := json.Marshal(v)
	return value{Text: cut(string(text), maxShownRunes)}
}

func cut(text string, runes int) string {
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	return string([]rune(text)[:runes]) + "…"
}
