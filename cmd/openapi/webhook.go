package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/worker/signature"
)

// event describes a type of event (specification, Event types).
type event struct {
	name, description string
	// data is an empty message of the type of the event's data; nil for a ping, which has no resource.
	data proto.Message
	// golden is the name of a golden file. The answer in this file is the example of the event's data, after the function
	// adapt has changed it so that it fits the event.
	golden string
	adapt  func(data proto.Message)
}

var events = []event{
	{
		name: hook.OrderPaid,
		description: "An order is paid, from the catalogue or through a payment link. `data` is the Order. A payment through a link " +
			"sends `payment_link.paid` too, with another event id: ship by the order's id. Nothing is sent when a paid order is refunded.",
		data: &storefrontv1.Order{}, golden: "order-retrieve",
	},
	{
		name: hook.OrderFailed,
		description: "The payment provider confirms that the payment of an order failed. `data` is the Order, which is not paid: " +
			"`status` is FAILED and `paidAt` null. Nothing is sent for an order that is abandoned without an answer, or cancelled.",
		data: &storefrontv1.Order{}, golden: "order-retrieve",
		adapt: func(data proto.Message) {
			order := data.(*storefrontv1.Order)
			order.Status, order.PaidAt = storefrontv1.Order_FAILED, nil
		},
	},
	{
		name: hook.CustomerCreated,
		description: "A new customer is recorded, by a first purchase or through the API. `data` is the Customer. Nothing is sent " +
			"for a customer who is known already.",
		data: &storefrontv1.Customer{}, golden: "customer-create",
	},
	{
		name: hook.ProductPublished,
		description: "A product moves to PUBLISHED. `data` is the Product. Nothing is sent when its status does not change, or becomes " +
			"DRAFT.",
		data: &storefrontv1.Product{}, golden: "product-retrieve",
	},
	{
		name:        hook.ProductArchived,
		description: "A product moves to ARCHIVED. `data` is the Product. Nothing is sent when its status does not change.",
		data:        &storefrontv1.Product{}, golden: "product-retrieve",
		adapt: func(data proto.Message) { data.(*storefrontv1.Product).Status = storefrontv1.Product_ARCHIVED },
	},
	{
		name: hook.PaymentLinkPaid,
		description: "A payment link is paid. `data` is the Order of the payment, with its `paymentLink`. `order.paid` is sent for the " +
			"same order too, with another event id: ship by the order's id.",
		data: &storefrontv1.Order{}, golden: "order-retrieve",
		adapt: func(data proto.Message) {
			order := data.(*storefrontv1.Order)
			order.Items = nil
			order.PaymentLink = &storefrontv1.Order_PaymentLink{Id: exampleID, Code: exampleCode, Title: "Atelier"}
		},
	},
	{name: hook.Ping,
		description: "The test button of the dashboard is used. `data` has a `message`. No webhook subscribes to it, and it is sent once " +
			"only."},
}

// addWebhooks adds the webhooks to the document: the delivery of each type of event, and what receivers must answer.
func (c *completion) addWebhooks() error {
	var names []string
	for _, e := range events {
		names = append(names, e.name)
	}
	if sent := append(hook.EventTypes(), hook.Ping); !equalSets(names, sent) {
		return fmt.Errorf("the document has the events %v, and the service sends %v", names, sent)
	}
	c.addDeliveryHeaders(names)
	schemas := &c.doc.Components.Schemas
	schemas.set("EventStore", objectSchema("The store that an event is of.",
		field{"id", "UUID; the same value as that of `GET /v1/store`.", stringSchema("uuid", "")},
		field{"slug", "The store's short name in addresses.", stringSchema("", "")},
	))
	schemas.set("Ping", objectSchema("The data of a ping.",
		field{"message", "A text for people.", stringSchema("", "")},
		field{"sentAt", "When the test button was used.", stringSchema("date-time", momentPattern)},
	))
	schemas.set(linkOrder, linkOrderSchema(schemas.get("Order")))
	union := &schema{
		Description: "An event of today's types, which is the body of a delivery. `type` determines what `data` is. " +
			"A webhook receives no types but those that it subscribes to.",
		Discriminator: &discriminator{PropertyName: "type"},
	}
	for _, e := range events {
		name := pascal(e.name) + "Event"
		schemas.set(name, e.schema())
		union.OneOf = append(union.OneOf, reference(name))
		union.Discriminator.Mapping.set(e.name, reference(name).Ref)
		body, err := c.envelope(e)
		if err != nil {
			return fmt.Errorf("show %s: %w", e.name, err)
		}
		c.doc.Webhooks.set(e.name, &pathItem{Post: e.delivery(name, body)})
	}
	schemas.set("Event", union)
	return nil
}

// linkOrder is the name of the schema for an order that was paid through a payment link.
const linkOrder = "PaymentLinkOrder"

// linkOrderSchema returns the schema of an order that was paid through a payment link, made from the schema of any order. In it,
// neither paidAt nor paymentLink is null.
func linkOrderSchema(order *schema) *schema {
	s := *order
	s.Description = "A purchase that was paid through a payment link."
	s.Properties = ordered[*schema]{}
	for name, property := range order.Properties.all() {
		changed := *property
		switch name {
		case "paymentLink":
			changed = *reference("OrderPaymentLink")
			changed.Description = "The payment link that the order came through."
		case "status":
			changed.Words = []string{storefrontv1.Order_PAID.String()}
			changed.Description = "Where the order stands: an event has it as it was when it was paid."
		case "paidAt":
			changed.Type = types{"string"}
			changed.Description = "When the order was paid."
		}
		s.Properties.set(name, &changed)
	}
	return &s
}

func equalSets(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// schema returns the schema of the body in which an event is delivered (specification, Webhook event envelope).
func (e event) schema() *schema {
	kind := stringSchema("", "")
	kind.Enum = []any{e.name}
	data := field{"data", "The object as the public API returned it right after the event.", nil}
	switch {
	case e.data == nil:
		data.description, data.schema = "The data of the ping.", reference("Ping")
	case e.name == hook.PaymentLinkPaid:
		data.schema = reference(linkOrder)
	default:
		data.schema = reference(publicName(e.data.ProtoReflect().Descriptor().FullName()))
	}
	return objectSchema(e.description,
		field{"id", "UUID of the event, the same at every attempt: remember it to handle an event once.", stringSchema("uuid", "")},
		field{"type", "The type of the event.", kind},
		field{"createdAt", "When the event happened.", stringSchema("date-time", momentPattern)},
		field{"store", "The store that the event is of.", reference("EventStore")},
		data,
	)
}

// field is a member of an object that no proto describes.
type field struct {
	name, description string
	schema            *schema
}

// objectSchema returns the schema of an object that has all of these fields, and may have others in a later release.
func objectSchema(description string, fields ...field) *schema {
	s := &schema{Type: types{"object"}, Description: description}
	for _, f := range fields {
		f.schema.Description = f.description
		s.Properties.set(f.name, f.schema)
		s.Required = append(s.Required, f.name)
	}
	return s
}

func stringSchema(format, pattern string) *schema {
	return &schema{Type: types{"string"}, Format: format, Pattern: pattern}
}

// envelope returns an example of the body in which an event is delivered, encoded by the service's own code.
func (c *completion) envelope(e event) ([]byte, error) {
	at := time.Date(2026, 10, 1, 12, 0, 30, 0, time.UTC)
	id := uuid.MustParse("0199a1f0-6b7e-7d20-8f41-3c9a5e7b1d02")
	store := uuid.MustParse("0199a1ef-10c4-7a3b-9d5e-8b6f4a2c1e01")
	if e.data == nil {
		return hook.PingEnvelope(id, at, store, exampleSlug, "This is a test event."), nil
	}
	i := slices.IndexFunc(c.goldens, func(g golden) bool { return g.name == e.golden })
	if i < 0 {
		return nil, fmt.Errorf("there is no golden file %s", e.golden)
	}
	data := proto.Clone(e.data)
	if err := apijson.Unmarshal(c.goldens[i].responseBody, data); err != nil {
		return nil, err
	}
	if e.adapt != nil {
		e.adapt(data)
	}
	return hook.Envelope(id, e.name, at, store, exampleSlug, data), nil
}

// maxAttempts is the number of attempts after which a worker gives a delivery up (specification, Delivery).
const maxAttempts = 8

// userAgentHeader is the name of the header that has the value signature.UserAgent.
const userAgentHeader = "User-Agent"

// addDeliveryHeaders adds the headers of deliveries to the document (specification, Delivery).
func (c *completion) addDeliveryHeaders(eventTypes []string) {
	kind, sender, attempt := stringSchema("", ""), stringSchema("", ""), integerSchema(1, maxAttempts)
	kind.Words, sender.Words = eventTypes, []string{signature.UserAgent}
	for _, h := range []field{
		{signature.Header, fmt.Sprintf("`t=<time>,v1=<signature>`: the time of the attempt in Unix seconds, and the HMAC-SHA256 of "+
			"`<time>.<body>` in lower-case hex. Its key is the webhook's whole secret, `%s` included, and the body is signed byte "+
			"for byte as it is sent. There may be several `v1`. Refuse a delivery of which none matches, compared in constant time, "+
			"or whose "+
			"time is more than %d minutes from yours.", signature.SecretPrefix, int(signature.Tolerance.Minutes())),
			stringSchema("", `^t=\d+(,v1=[0-9a-f]{64})+$`)},
		{signature.EventIDHeader, "The id of the event, the same at every attempt: the idempotency key.", stringSchema("uuid", "")},
		{signature.EventTypeHeader, "The type of the event.", kind},
		{signature.AttemptHeader, "The number of the attempt.", &attempt},
		{userAgentHeader, "The sender.", sender},
	} {
		c.doc.Components.Parameters.set(h.name, &parameter{
			Name: h.name, In: "header", Description: h.description, Required: true, Schema: h.schema,
		})
	}
}

// delivery returns the operation that delivers an event: the request, and what each status of the receiver's answer means.
// body is the example of the request's body.
func (e event) delivery(schemaName string, body []byte) *operation {
	op := &operation{
		Tags: []string{"Webhooks"}, Summary: e.name, Description: e.description,
		OperationID: strings.ToLower(schemaName[:1]) + schemaName[1:],
		Security:    []ordered[[]string]{},
		RequestBody: &requestBody{Required: true, Content: singleton(mediaTypeJSON, &mediaType{
			Schema: reference(schemaName), Examples: singleton(e.name, &example{Value: body}),
		})},
	}
	for _, name := range []string{
		signature.Header, signature.EventIDHeader, signature.EventTypeHeader, signature.AttemptHeader, userAgentHeader,
	} {
		op.Parameters = append(op.Parameters, &parameter{Ref: "#/components/parameters/" + name})
	}
	for _, r := range []struct{ status, description string }{
		{"2XX", "The delivery succeeded, if this comes within 10 seconds. The body is not read."},
		{"3XX", "A failure: redirects are not followed."},
		{"4XX", "A failure. All but a ping are tried again: up to 8 attempts over a little more than 22 hours."},
		{"5XX", "A failure, as no answer at all is one."},
	} {
		op.Responses.set(r.status, &response{Description: r.description})
	}
	return op
}
