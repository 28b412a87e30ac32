package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/wire"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/worker/signature"
)

// event is a type of event (specification, Event types).
type event struct {
	name string
	when string
	data string
	// golden shows the data; shown changes it into what the event carries.
	golden string
	shown  func(proto.Message)
	empty  proto.Message
}

var events = []event{
	{hook.OrderPaid, "An order is paid, from the catalogue or through a payment link.", "Order", "order-retrieve", nil, &storefrontv1.Order{}},
	{hook.OrderFailed, "The payment provider confirms that the payment of an order failed: `status` is FAILED and `paidAt` null. " +
		"Nothing is sent for an order that is abandoned without an answer.", "Order", "order-retrieve", func(m proto.Message) {
		o := m.(*storefrontv1.Order)
		o.Status, o.PaidAt = storefrontv1.Order_FAILED, nil
	}, &storefrontv1.Order{}},
	{hook.CustomerCreated, "A new customer is recorded, by a first purchase or through the API. Nothing is sent for a customer who is known already.", "Customer", "customer-create", nil, &storefrontv1.Customer{}},
	{hook.ProductPublished, "A product moves to PUBLISHED. Nothing is sent when its status stays as it was.", "Product", "product-retrieve", nil, &storefrontv1.Product{}},
	{hook.ProductArchived, "A product moves to ARCHIVED.", "Product", "product-retrieve", func(m proto.Message) {
		m.(*storefrontv1.Product).Status = storefrontv1.Product_ARCHIVED
	}, &storefrontv1.Product{}},
	{hook.PaymentLinkPaid, "A payment link is paid: the order that the payment made, with its `paymentLink`. `order.paid` is sent for the same order too.", "Order", "order-retrieve", func(m proto.Message) {
		o := m.(*storefrontv1.Order)
		o.Items, o.Note = nil, nil
		o.PaymentLink = &storefrontv1.Order_PaymentLink{Id: exampleID, Code: "k7m2q9xw4t", Title: "Atelier"}
	}, &storefrontv1.Order{}},
	{wire.PingType, "The test button of the dashboard is used. No webhook subscribes to it, and it is sent once only.", "Ping", "", nil, nil},
}

// addWebhooks adds the webhooks: what the service sends, to whom it is sent, and what it expects.
func (c *completion) addWebhooks() error {
	var names []string
	for _, e := range events {
		if e.name != wire.PingType {
			names = append(names, e.name)
		}
	}
	subscribed := shop.EventTypes()
	slices.Sort(subscribed)
	slices.Sort(names)
	if !slices.Equal(names, subscribed) {
		return fmt.Errorf("the document has the events %v, and webhooks subscribe to %v", names, subscribed)
	}
	c.addDeliveryHeaders()
	c.doc.Components.Schemas.set("EventStore", object("The store that the event is of.",
		field{"id", "UUID; the same value as that of GET /v1/store.", text("uuid", "")},
		field{"slug", "The store's short name in addresses.", text("", "")},
	))
	c.doc.Components.Schemas.set("Ping", object("What a ping says.",
		field{"message", "A text for people.", text("", "")},
		field{"sentAt", "When the test button was used.", text("date-time", momentPattern)},
	))
	union := &schema{
		Description:   "An event, as the body of a delivery. `type` tells what `data` is.",
		Discriminator: &discriminator{PropertyName: "type"},
	}
	for _, e := range events {
		name := pascal(e.name) + "Event"
		kind := text("", "")
		kind.Enum = []any{e.name}
		c.doc.Components.Schemas.set(name, object(e.when,
			field{"id", "UUID of the event, the same at every attempt: what tells repetitions.", text("uuid", "")},
			field{"type", "The type of the event.", kind},
			field{"createdAt", "When the event happened.", text("date-time", momentPattern)},
			field{"store", "The store that the event is of.", reference("EventStore")},
			field{"data", "The object as the public API returned it right after the event.", reference(e.data)},
		))
		union.OneOf = append(union.OneOf, reference(name))
		union.Discriminator.Mapping.set(e.name, reference(name).Ref)
		shown, err := c.envelope(e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		c.doc.Webhooks.set(e.name, &pathItem{Post: delivery(e, name, shown)})
	}
	c.doc.Components.Schemas.set("Event", union)
	return nil
}

type field struct {
	name, description string
	schema            *schema
}

// object is the schema of an object that has every one of the fields.
func object(description string, fields ...field) *schema {
	s := &schema{Type: types{"object"}, Description: description, AdditionalProperties: false}
	for _, f := range fields {
		f.schema.Description = f.description
		s.Properties.set(f.name, f.schema)
		s.Required = append(s.Required, f.name)
	}
	return s
}

func text(format, pattern string) *schema {
	return &schema{Type: types{"string"}, Format: format, Pattern: pattern}
}

// envelope is an example of an event, spelled as the service spells one.
func (c *completion) envelope(e event) ([]byte, error) {
	at := time.Date(2026, 10, 1, 12, 0, 30, 0, time.UTC)
	id := uuid.MustParse("0199a1f0-6b7e-7d20-8f41-3c9a5e7b1d02")
	store := uuid.MustParse("0199a1ef-10c4-7a3b-9d5e-8b6f4a2c1e01")
	if e.golden == "" {
		return wire.Ping(id, at, store, "atelier", "This is a test event."), nil
	}
	for _, g := range c.goldens {
		if g.name != e.golden {
			continue
		}
		m := proto.Clone(e.empty)
		if err := wire.Unmarshal(g.answer, m); err != nil {
			return nil, err
		}
		if e.shown != nil {
			e.shown(m)
		}
		return wire.Envelope(id, e.name, at, store, "atelier", m), nil
	}
	return nil, fmt.Errorf("there is no golden file %s", e.golden)
}

// addDeliveryHeaders adds the headers of a delivery (specification, Delivery).
func (c *completion) addDeliveryHeaders() {
	for _, h := range []field{
		{signature.Header, "`t=<time>,v1=<signature>`: the time of the attempt in Unix seconds, and the HMAC-SHA256 of `<time>.<body>`, in " +
			"lower-case hex, keyed with the webhook's whole secret, `whsec_` included. The body is signed as it is sent, byte for byte. " +
			"Refuse a delivery without a `v1` that matches, or whose time is more than five minutes away from yours.",
			text("", `^t=\d+,v1=[0-9a-f]{64}$`)},
		{signature.EventIDHeader, "The id of the event, the same at every attempt: the key under which to remember what was handled.", text("uuid", "")},
		{signature.EventTypeHeader, "The type of the event.", text("", "")},
		{signature.AttemptHeader, "The number of the attempt.", &schema{Type: types{"integer"}}},
		{"User-Agent", "The sender.", text("", "")},
	} {
		s := h.schema
		switch h.name {
		case signature.EventTypeHeader:
			for _, e := range events {
				s.Enum = append(s.Enum, e.name)
			}
		case signature.AttemptHeader:
			bounded := whole(1, 8)
			s = &bounded
		case "User-Agent":
			s.Enum = []any{signature.UserAgent}
		}
		c.doc.Components.Parameters.set(h.name, &parameter{Name: h.name, In: "header", Description: h.description, Required: true, Schema: s})
	}
}

// delivery is the request that carries an event.
func delivery(e event, schemaName string, shown []byte) *operation {
	op := &operation{
		Tags: []string{"Webhooks"}, Summary: e.name, Description: e.when,
		OperationID: strings.ToLower(schemaName[:1]) + schemaName[1:],
		Security:    []ordered[[]string]{},
		RequestBody: &requestBody{Required: true, Content: one(mediaTypeJSON, &mediaType{
			Schema: reference(schemaName), Examples: one(e.name, &example{Value: shown}),
		})},
	}
	for _, name := range []string{signature.Header, signature.EventIDHeader, signature.EventTypeHeader, signature.AttemptHeader, "User-Agent"} {
		op.Parameters = append(op.Parameters, &parameter{Ref: "#/components/parameters/" + name})
	}
	op.Responses.set("2XX", &response{Description: "The delivery succeeded, if it is answered within 10 seconds. The body is not read."})
	op.Responses.set("3XX", &response{Description: "A failure: redirects are not followed."})
	op.Responses.set("4XX", &response{Description: "A failure: it is tried again, up to 8 attempts over a little more than 22 hours."})
	op.Responses.set("5XX", &response{Description: "A failure, as any 4XX and no answer at all."})
	return op
}
