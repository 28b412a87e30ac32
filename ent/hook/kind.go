package hook

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/field"
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

// kind describes the journal entries and events of one kind of row.
type kind struct {
	// resource is the name in the journal.
	resource string
	// fields are the journaled columns in the order of an entry. Counters and times that follow from
	// other changes are not journaled.
	fields []field.Column
	// verb ends the name of a change in the journal: paid in order.paid. Nil means created or updated. A deletion
	// is always deleted.
	verb func(op ent.Op, changes []Change) string
	// events returns the types of event that a change sends.
	events func(op ent.Op, changes []Change, row ent.Value) []string
}

// kinds is the one table of the journaled rows and their events, by ent's type name.
var kinds = map[string]kind{
	ent.TypeOrderItem: {resource: "order_item"},
	ent.TypeStore: {
		resource: "store",
		fields:   field.Store.Columns(),
	},
	ent.TypeProduct: {
		resource: "product",
		fields:   field.Product.Columns(),
		events: func(_ ent.Op, changes []Change, _ ent.Value) []string {
			switch changedTo(changes, "status") {
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
		fields:   field.Customer.Columns(),
		events: func(op ent.Op, _ []Change, _ ent.Value) []string {
			if op.Is(ent.OpCreate) {
				return []string{CustomerCreated}
			}
			return nil
		},
	},
	ent.TypeOrder: {
		resource: "order",
		fields:   field.Order.Columns(),
		verb: func(op ent.Op, changes []Change) string {
			if op.Is(ent.OpCreate) {
				return "created"
			}
			return strings.ToLower(changedTo(changes, "status"))
		},
		events: func(_ ent.Op, changes []Change, row ent.Value) []string {
			switch changedTo(changes, "status") {
			case "PAID":
				if row.(*ent.Order).PaymentLinkID != nil {
					return []string{OrderPaid, PaymentLinkPaid}
				}
				return []string{OrderPaid}
			case "FAILED":
				return []string{OrderFailed}
			}
			return nil
		},
	},
	ent.TypePaymentLink: {
		resource: "payment_link",
		fields:   field.PaymentLink.Columns(),
		verb: func(op ent.Op, changes []Change) string {
			switch {
			case op.Is(ent.OpCreate):
				return "created"
			case len(changes) == 1 && changes[0].Field == "disabledAt" && changes[0].To == nil:
				return "enabled"
			case len(changes) == 1 && changes[0].Field == "disabledAt":
				return "disabled"
			}
			return "updated"
		},
	},
	ent.TypeApiKey: {
		resource: "api_key",
		fields:   field.ApiKey.Columns(),
		verb: func(op ent.Op, _ []Change) string {
			if op.Is(ent.OpCreate) {
				return "created"
			}
			return "revoked"
		},
	},
	ent.TypeWebhook: {
		resource: "webhook",
		fields:   field.Webhook.Columns(),
		verb: func(op ent.Op, changes []Change) string {
			if op.Is(ent.OpCreate) {
				return "created"
			}
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

// action is the journal's name of a change, such as product.updated.
func (k kind) action(op ent.Op, changes []Change) string {
	switch {
	case op.Is(ent.OpDeleteOne):
		return k.resource + ".deleted"
	case k.verb != nil:
		return k.resource + "." + k.verb(op, changes)
	case op.Is(ent.OpCreate):
		return k.resource + ".created"
	}
	return k.resource + ".updated"
}

// storeOf returns the store that the row of a mutation belongs to; old is the locked row.
func (k kind) storeOf(ctx context.Context, m mutation, old ent.Value) (uuid.UUID, error) {
	var owner any
	var err error
	switch {
	case m.Type() == ent.TypeStore:
		owner, _ = m.ID()
	case m.Op().Is(ent.OpCreate):
		owner, _ = m.Field("store_id")
	case m.Op().Is(ent.OpUpdateOne):
		owner, err = m.OldField(ctx, "store_id")
	default:
		owner = column(old, "store_id")
	}
	id, _ := owner.(uuid.UUID)
	return id, err
}

// names reports whether a mutation sets a journaled column, to whichever value.
func (k kind) names(m mutation) bool {
	return slices.ContainsFunc(k.fields, func(f field.Column) bool {
		_, set := m.Field(f.Name)
		_, added := m.AddedField(f.Name)
		return set || added || m.FieldCleared(f.Name)
	})
}

// changes lists the journaled columns whose value a mutation changes. The old values come with the
// row that an update starts from, without a query, and those of a deletion with the locked row.
func (k kind) changes(ctx context.Context, m mutation, old ent.Value) ([]Change, error) {
	var changes []Change
	for _, f := range k.fields {
		c := Change{Field: f.Journal}
		to, set := m.Field(f.Name)
		switch {
		case m.Op().Is(ent.OpDeleteOne):
			c.From = plain(column(old, f.Name))
		case !set && !m.FieldCleared(f.Name):
			if _, added := m.AddedField(f.Name); added {
				return nil, fmt.Errorf("%s is set, not added to, so that the journal has its value", f.Name)
			}
			continue
		case set:
			c.To = plain(to)
		}
		if m.Op().Is(ent.OpUpdateOne) {
			from, err := m.OldField(ctx, f.Name)
			if err != nil {
				return nil, err
			}
			c.From = plain(from)
		}
		if !equal(c.From, c.To) {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// column returns the value of a row's column, whose field names it in the tag json.
func column(row ent.Value, name string) any {
	v := reflect.Indirect(reflect.ValueOf(row))
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); tag == name {
			return v.Field(i).Interface()
		}
	}
	return nil
}

// changedTo returns the new value of a field that changed, as text, and "" for any other.
func changedTo(changes []Change, field string) string {
	for _, c := range changes {
		if c.Field == field {
			text, _ := c.To.(string)
			return text
		}
	}
	return ""
}
