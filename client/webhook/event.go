package webhook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Type is the type of an event. A newer service may send types that are not among the constants: answer them with a 2xx and do
// nothing.
type Type string

// The event types (specification, Event types), each with the Go type of Event.Data.
const (
	// OrderPaid: an order is paid, from the catalogue or through a payment link, which sends PaymentLinkPaid too: ship by the
	// order's id. Data is a *storefrontv1.Order.
	OrderPaid Type = "order.paid"
	// OrderFailed: the payment provider confirms that a payment failed. Data is a *storefrontv1.Order.
	OrderFailed Type = "order.failed"
	// CustomerCreated: a customer is new to the store. Data is a *storefrontv1.Customer.
	CustomerCreated Type = "customer.created"
	// ProductPublished: a product moves to PUBLISHED. Data is a *storefrontv1.Product.
	ProductPublished Type = "product.published"
	// ProductArchived: a product moves to ARCHIVED. Data is a *storefrontv1.Product.
	ProductArchived Type = "product.archived"
	// PaymentLinkPaid: a payment link is paid; the order also has an OrderPaid event, with another event id. Data is a
	// *storefrontv1.Order, with PaymentLink set.
	PaymentLinkPaid Type = "payment_link.paid"
	// Ping: somebody tests the webhook, for example with the button in the dashboard. Data is a *PingData.
	Ping Type = "ping"
)

// Event is one event of a store (specification, Webhook event envelope).
type Event struct {
	// ID is the event's UUID, the same in every delivery. Store the event by it, but handle an order once by the order's id,
	// because two events report the payment of a link.
	ID   string
	Type Type
	// CreatedAt is when the event happened, in UTC. Events may arrive in any order; a later event of one object has a later
	// CreatedAt.
	CreatedAt time.Time
	// Store is the event's store.
	Store Store
	// Data is the object as the API returned it right after the change: a *storefrontv1.Order, *storefrontv1.Customer,
	// *storefrontv1.Product or *PingData, or nil for a Type that is not among the constants. Unknown fields are left out, an
	// unknown enum value is UNSPECIFIED, and a missing field has its zero value.
	Data any
	// Raw is the data as received, in JSON, with unknown fields.
	Raw json.RawMessage
}

// Store is the store of an event.
type Store struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
}

// PingData is the data of a Ping.
type PingData struct {
	Message string    `json:"message"`
	SentAt  time.Time `json:"sentAt"`
}

// parse takes a body whose signature was verified. It requires only the envelope and the ids, because a recorded event may lack
// newer fields.
func parse(body []byte) (*Event, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &fields); err != nil || !utf8.Valid(body) {
		return nil, fmt.Errorf("%w: %w", ErrPayload, cmp.Or(err, errors.New("it is not UTF-8")))
	}
	event := &Event{Raw: fields["data"]}
	for _, field := range []struct {
		name string
		into any
	}{{"id", &event.ID}, {"type", &event.Type}, {"createdAt", &event.CreatedAt}, {"store", &event.Store}} {
		if isMissing(fields[field.name]) {
			return nil, fmt.Errorf("%w: the event has no %s", ErrPayload, field.name)
		}
		if err := json.Unmarshal(fields[field.name], field.into); err != nil {
			return nil, fmt.Errorf("%w: %s of the event: %w", ErrPayload, field.name, err)
		}
	}
	if event.Store.ID == "" {
		return nil, fmt.Errorf("%w: the event's store has no id", ErrPayload)
	}
	event.CreatedAt = event.CreatedAt.UTC()
	var err error
	if event.Data, err = event.Type.read(event.Raw); err != nil {
		return nil, fmt.Errorf("%w: data of %s: %w", ErrPayload, event.Type, err)
	}
	return event, nil
}

// isMissing is true for a field that is absent, null or an empty text.
func isMissing(value json.RawMessage) bool {
	return len(value) == 0 || string(value) == "null" || string(value) == `""`
}

func (t Type) read(data json.RawMessage) (any, error) {
	switch t {
	case OrderPaid, OrderFailed, PaymentLinkPaid:
		return message(data, &storefrontv1.Order{})
	case CustomerCreated:
		return message(data, &storefrontv1.Customer{})
	case ProductPublished, ProductArchived:
		return message(data, &storefrontv1.Product{})
	case Ping:
		ping := &PingData{}
		return ping, decode(data, func(object []byte) error { return json.Unmarshal(object, ping) })
	}
	return nil, nil
}

// lenient ignores fields and enum values that are newer than this program.
var lenient = protojson.UnmarshalOptions{DiscardUnknown: true}

func message(data json.RawMessage, m proto.Message) (proto.Message, error) {
	if err := decode(data, func(object []byte) error { return lenient.Unmarshal(object, m) }); err != nil {
		return nil, err
	}
	return m, checkIDs(m.ProtoReflect())
}

// decode calls unmarshal with data. If that fails, it tries each field alone and names the wrong one, as protojson does not for
// a date.
func decode(data json.RawMessage, unmarshal func(object []byte) error) error {
	if isMissing(data) {
		return errors.New("it is missing")
	}
	err := unmarshal(data)
	var fields map[string]json.RawMessage
	if err == nil || json.Unmarshal(data, &fields) != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		object, failed := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if failed == nil {
			failed = unmarshal(object)
		}
		if failed != nil {
			return fmt.Errorf("%s: %w", name, failed)
		}
	}
	return err
}

// checkIDs requires an id of a message and those in it, if they have a field for it.
func checkIDs(m protoreflect.Message) error {
	if id := m.Descriptor().Fields().ByName("id"); id != nil && !m.Has(id) {
		return fmt.Errorf("%s has no id", m.Descriptor().Name())
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range value.List().Len() {
				err = errors.Join(err, checkIDs(value.List().Get(i).Message()))
			}
		default:
			err = checkIDs(value.Message())
		}
		return err == nil
	})
	return err
}
