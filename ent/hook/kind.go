package hook

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
)

// The event types that a webhook can subscribe to, as in the specification.
const (
	OrderPaid        = "order.paid"
	OrderFailed      = "order.failed"
	CustomerCreated  = "customer.created"
	ProductPublished = "product.published"
	ProductArchived  = "product.archived"
	PaymentLinkPaid  = "payment_link.paid"
)

// EventTypes lists the types that a webhook can subscribe to, in the order of the specification.
func EventTypes() []string {
	return []string{OrderPaid, OrderFailed, CustomerCreated, ProductPublished, ProductArchived, PaymentLinkPaid}
}

// Ping is the type of the event that the test button sends. No webhook can subscribe to it.
const Ping = "ping"

// kind says which journal entries and events a change of one kind of row has.
type kind struct {
	// resource is the name of this kind of row in the activity journal.
	resource string
	// fields are the journaled columns, in the order of a journal entry: neither counters nor times that follow from other
	// changes.
	fields []resource.Column
	// updateVerb returns the last part of an update's name in the journal, such as "paid" in order.paid; nil means "updated".
	updateVerb func(changes []FieldChange) string
	// events returns the types of the events that a change causes. status is the row's new status; "" if it stays.
	events func(created bool, status string, row ent.Value) []string
}

// kinds has the journal entries and the events of each journaled kind of row, by ent's name of its type.
var kinds = map[string]kind{
	ent.TypeOrderItem: {resource: "order_item"},
	ent.TypeStore:     {resource: "store", fields: resource.StoreFields.Columns()},
	ent.TypeProduct: {
		resource: "product",
		fields:   resource.ProductFields.Columns(),
		events: func(_ bool, status string, _ ent.Value) []string {
			switch status {
			case "PUBLISHED":
				return []string{ProductPublished}
			case "ARCHIVED":
				return []string{ProductArchived}
			}
			return nil
		},
	},
	ent.TypeCustomer: {
		resource: "customer",
		fields:   resource.CustomerFields.Columns(),
		events: func(created bool, _ string, _ ent.Value) []string {
			if created {
				return []string{CustomerCreated}
			}
			return nil
		},
	},
	ent.TypeOrder: {
		resource:   "order",
		fields:     resource.OrderFields.Columns(),
		updateVerb: func(changes []FieldChange) string { return strings.ToLower(newStatus(changes)) },
		events: func(_ bool, status string, row ent.Value) []string {
			switch {
			case status == "PAID" && row.(*ent.Order).PaymentLinkID != nil:
				return []string{OrderPaid, PaymentLinkPaid}
			case status == "PAID":
				return []string{OrderPaid}
			case status == "FAILED":
				return []string{OrderFailed}
			}
			return nil
		},
	},
	ent.TypePaymentLink: {
		resource: "payment_link",
		fields:   resource.PaymentLinkFields.Columns(),
		updateVerb: func(changes []FieldChange) string {
			switch {
			case len(changes) > 1 || changes[0].Field != "disabledAt":
				return "updated"
			case changes[0].To == nil:
				return "enabled"
			}
			return "disabled"
		},
	},
	ent.TypeApiKey: {
		resource:   "api_key",
		fields:     resource.APIKeyFields.Columns(),
		updateVerb: func([]FieldChange) string { return "revoked" },
	},
	ent.TypeWebhook: {
		resource: "webhook",
		fields:   resource.WebhookFields.Columns(),
		updateVerb: func(changes []FieldChange) string {
			for _, c := range changes {
				switch {
				case c.Field == "enabled" && c.To == true:
					return "enabled"
				case c.Field == "enabled":
					return "disabled"
				}
			}
			return "updated"
		},
	},
}

// Journaled reports whether the activity journal shows this field of a resource of this type, such as "customer".
func Journaled(resourceType, field string) bool {
	for _, k := range kinds {
		if k.resource == resourceType && slices.ContainsFunc(k.fields, func(c resource.Column) bool { return c.Journal == field }) {
			return true
		}
	}
	return false
}

// action returns the name of a change in the journal, such as product.updated.
func (k kind) action(op ent.Op, changes []FieldChange) string {
	switch {
	case op.Is(ent.OpCreate):
		return k.resource + ".created"
	case op.Is(ent.OpDeleteOne):
		return k.resource + ".deleted"
	case k.updateVerb != nil:
		return k.resource + "." + k.updateVerb(changes)
	}
	return k.resource + ".updated"
}

// storeOf returns the store whose row m changes. old is the locked row; nil for a new one.
func storeOf(m mutation, old ent.Value) uuid.UUID {
	var owner any
	switch {
	case m.Type() == ent.TypeStore:
		owner, _ = m.ID()
	case m.Op().Is(ent.OpCreate):
		owner, _ = m.Field("store_id")
	default:
		owner = column(old, "store_id")
	}
	id, _ := owner.(uuid.UUID)
	return id
}

// setsColumn reports whether m sets a journaled column, even to the value that it has.
func (k kind) setsColumn(m mutation) bool {
	return slices.ContainsFunc(k.fields, func(f resource.Column) bool {
		_, set := m.Field(f.Name)
		_, added := m.AddedField(f.Name)
		return set || added || m.FieldCleared(f.Name)
	})
}

// FieldChange is one field of a journal entry. A value is text, a bool, an int64, a float64, a time, a list or map of text, or
// nil for null.
type FieldChange struct {
	Field    string
	From, To any
}

// changes returns the journaled columns whose values m changes. old is the locked row; nil for a new one.
func (k kind) changes(m mutation, old ent.Value) ([]FieldChange, error) {
	var changes []FieldChange
	for _, f := range k.fields {
		if _, added := m.AddedField(f.Name); added {
			return nil, fmt.Errorf("%s is set, not added to, so that the journal has its value", f.Name)
		}
		newValue, set := m.Field(f.Name)
		if !set && !m.FieldCleared(f.Name) && !m.Op().Is(ent.OpDeleteOne) {
			continue
		}
		c := FieldChange{Field: f.Journal, From: basicValue(column(old, f.Name))}
		if set {
			c.To = basicValue(newValue)
		}
		if !reflect.DeepEqual(c.From, c.To) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// column returns the value of the column with this name, which is the json tag of its struct field; nil if row is nil.
func column(row ent.Value, name string) any {
	if row == nil {
		return nil
	}
	v := reflect.Indirect(reflect.ValueOf(row))
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
			return v.Field(i).Interface()
		}
	}
	return nil
}

// basicValue returns the value of a column in a type that FieldChange allows; a nil pointer becomes nil.
func basicValue(v any) any {
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer {
		rv = rv.Elem() // Elem returns the invalid Value if the pointer is nil
	}
	switch {
	case !rv.IsValid():
		return nil
	case rv.Kind() == reflect.String:
		return rv.String()
	case rv.CanInt():
		return rv.Int()
	}
	switch v := rv.Interface().(type) {
	case time.Time:
		return v.UTC().Round(0)
	case uuid.UUID:
		return v.String()
	default:
		return v
	}
}

// newStatus returns the status that changes set, or "".
func newStatus(changes []FieldChange) string {
	for _, c := range changes {
		if c.Field == "status" {
			text, _ := c.To.(string)
			return text
		}
	}
	return ""
}

// appendChanges appends the changes as JSON, such as {"title":{"from":"a","to":"b"}}.
func appendChanges(b []byte, changes []FieldChange) []byte {
	b = append(b, '{')
	for i, c := range changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = apijson.AppendString(b, c.Field)
		b = appendValue(append(b, `:{"from":`...), c.From)
		b = appendValue(append(b, `,"to":`...), c.To)
		b = append(b, '}')
	}
	return append(b, '}')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return apijson.AppendString(b, v)
	case time.Time:
		return apijson.AppendTime(b, v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("hook: journal a value of type %T: %v", v, err))
	}
	return append(b, text...)
}
