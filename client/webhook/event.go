package webhook

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Type is what happened. A newer service may send types that are not among the constants: answer
// them with a 2xx and do nothing.
type Type string

// The types of event (specification, Event types), with what Event.Data holds.
const (
	// OrderPaid: an order is paid, from the catalogue or through a payment link.
	// *storefrontv1.Order.
	OrderPaid Type = "order.paid"
	// OrderFailed: the payment provider confirms that a payment failed. *storefrontv1.Order.
	OrderFailed Type = "order.failed"
	// CustomerCreated: a customer is new to the store. *storefrontv1.Customer.
	CustomerCreated Type = "customer.created"
	// ProductPublished: a product moves to PUBLISHED. *storefrontv1.Product.
	ProductPublished Type = "product.published"
	// ProductArchived: a product moves to ARCHIVED. *storefrontv1.Product.
	ProductArchived Type = "product.archived"
	// PaymentLinkPaid: a payment link is paid, beside OrderPaid of the same order.
	// *storefrontv1.Order, with PaymentLink set.
	PaymentLinkPaid Type = "payment_link.paid"
	// Ping: the test button was pressed. *PingData.
	Ping Type = "ping"
)

// Event is one event of a store (specification, Webhook event envelope).
type Event struct {
	// ID is the event's UUID, the same at every attempt: use it to detect events that you have
	// handled already.
	ID string
	// Type is what happened.
	Type Type
	// CreatedAt is when it happened, in UTC. Events may come in any order; compare CreatedAt to see
	// which is older.
	CreatedAt time.Time
	// Store is where it happened.
	Store Store
	// Data is the object concerned, as the API returned it then. Its type follows from Type:
	// *storefrontv1.Order, *storefrontv1.Customer, *storefrontv1.Product or *PingData, and nil for a
	// type that is not among the constants. It omits fields unknown to this version, and an unknown
	// enum value is UNSPECIFIED.
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

// parse reads a body whose signature was verified.
func parse(body []byte) (*Event, error) {
	var envelope struct {
		ID        string          `json:"id"`
		Type      Type            `json:"type"`
		CreatedAt time.Time       `json:"createdAt"`
		Store     Store           `json:"store"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	if envelope.ID == "" || envelope.Type == "" {
		return nil, fmt.Errorf("%w: it has no id or no type", ErrPayload)
	}
	data, err := envelope.Type.read(envelope.Data)
	if err != nil {
		return nil, fmt.Errorf("%w: data of %s: %w", ErrPayload, envelope.Type, err)
	}
	return &Event{
		ID: envelope.ID, Type: envelope.Type, CreatedAt: envelope.CreatedAt.UTC(), Store: envelope.Store,
		Data: data, Raw: envelope.Data,
	}, nil
}

// read decodes an event's data by its type.
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
		return ping, json.Unmarshal(data, ping)
	}
	return nil, nil
}

// lenient ignores fields and enum values that are newer than this program.
var lenient = protojson.UnmarshalOptions{DiscardUnknown: true}

func message(data json.RawMessage, m proto.Message) (proto.Message, error) {
	return m, lenient.Unmarshal(data, m)
}
