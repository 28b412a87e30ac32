package hook

import (
	"context"
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
	// rows reads the columns of a row that the transaction stores by itself (Created).
	rows interface {
		Value(row any, name string) any
	}
	// verb ends the name of the journal's entry: paid in order.paid. Nil means created or updated.
	verb func(op ent.Op, changes []Change) string
	// events returns the types of event that a change sends.
	events func(op ent.Op, changes []Change, row ent.Value) []string
}

// kinds is the one table of the journaled rows and their events, by ent's type name.
var kinds = map[string]kind{
	ent.TypeStore: {
		resource: "store",
		fields:   field.Store.Columns(),
	},
	ent.TypeProduct: {
		resource: "product",
		fields:   field.Product.Columns(),
		rows:     field.ProductRows,
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
		rows:     field.CustomerRows,
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
		rows:     field.OrderRows,
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
	case k.verb != nil:
		return k.resource + "." + k.verb(op, changes)
	case op.Is(ent.OpCreate):
		return k.resource + ".created"
	}
	return k.resource + ".updated"
}

// ownerOf returns the store that a new row belongs to.
func (k kind) ownerOf(m ent.Mutation) uuid.UUID {
	if k.resource == "store" {
		id, _ := m.(*ent.StoreMutation).ID()
		return id
	}
	owner, _ := m.Field("store_id")
	id, _ := owner.(uuid.UUID)
	return id
}

// changes lists the journaled fields whose value a mutation changes. The old values come with the
// row that an update starts from, without a query.
func (k kind) changes(ctx context.Context, m ent.Mutation) ([]Change, error) {
	var changes []Change
	for _, f := range k.fields {
		to, set := m.Field(f.Name)
		if !set && !m.FieldCleared(f.Name) {
			continue
		}
		c := Change{Field: f.Journal}
		if set {
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

// filled lists the journaled fields of a new row that are not null.
func (k kind) filled(row ent.Value) []Change {
	var changes []Change
	for _, f := range k.fields {
		if to := plain(k.rows.Value(row, f.Name)); to != nil {
			changes = append(changes, Change{Field: f.Journal, To: to})
		}
	}
	return changes
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
