package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Forgotten is the payload that replaces an event's payload when its customer is erased. No delivery sends it.
const Forgotten = `{"forgotten":true}`

// Envelope returns the bytes of an event that are stored, signed and sent (specification, Webhook event envelope).
func Envelope(id uuid.UUID, eventType string, at time.Time, storeID uuid.UUID, storeSlug string, data proto.Message) []byte {
	b := appendHead(make([]byte, 0, 1024), id, eventType, at, storeID, storeSlug)
	return append(apijson.Append(b, data), '}')
}

// PingEnvelope returns the envelope of a ping (specification, Event types).
func PingEnvelope(id uuid.UUID, at time.Time, storeID uuid.UUID, storeSlug, message string) []byte {
	b := appendHead(make([]byte, 0, 384), id, Ping, at, storeID, storeSlug)
	b = apijson.AppendString(append(b, `{"message":`...), message)
	b = apijson.AppendTime(append(b, `,"sentAt":`...), at)
	return append(b, "}}"...)
}

// appendHead appends the part of an envelope before its data.
func appendHead(b []byte, id uuid.UUID, eventType string, at time.Time, storeID uuid.UUID, storeSlug string) []byte {
	b = apijson.AppendString(append(b, `{"id":`...), id.String())
	b = apijson.AppendString(append(b, `,"type":`...), eventType)
	b = apijson.AppendTime(append(b, `,"createdAt":`...), at)
	b = apijson.AppendString(append(b, `,"store":{"id":`...), storeID.String())
	b = apijson.AppendString(append(b, `,"slug":`...), storeSlug)
	return append(b, `},"data":`...)
}

// Event is an event as ReadEnvelope reads it from its payload.
type Event struct {
	ID        uuid.UUID
	Type      string
	CreatedAt time.Time
	// Data is a Product, Customer or Order, as the type says; nil for a ping.
	Data proto.Message
}

// CustomerOf returns the id of the customer whose data an event has, by which an erasure finds it; or the nil id.
func CustomerOf(data proto.Message) uuid.UUID {
	var text string
	switch m := data.(type) {
	case *storefrontv1.Customer:
		text = m.GetId()
	case *storefrontv1.Order:
		text = m.GetCustomer().GetId()
	}
	id, _ := uuid.Parse(text) // the nil id for ""
	return id
}

// ReadEnvelope reads a payload that Envelope or PingEnvelope returned, and fails for any other text.
func ReadEnvelope(payload []byte) (e Event, err error) {
	var read struct {
		ID        uuid.UUID
		Type      string
		CreatedAt time.Time
		Store     struct {
			ID   uuid.UUID
			Slug string
		}
		Data struct {
			Message string
			SentAt  time.Time
		}
	}
	if err := json.Unmarshal(payload, &read); err != nil {
		return e, fmt.Errorf("read an event: %w", err)
	}
	e = Event{ID: read.ID, Type: read.Type, CreatedAt: read.CreatedAt}
	at, store := read.CreatedAt, read.Store
	switch e.Type {
	case OrderPaid, OrderFailed, PaymentLinkPaid:
		e.Data = &storefrontv1.Order{}
	case CustomerCreated:
		e.Data = &storefrontv1.Customer{}
	case ProductPublished, ProductArchived:
		e.Data = &storefrontv1.Product{}
	case Ping:
		if at.Equal(read.Data.SentAt) && bytes.Equal(payload, PingEnvelope(e.ID, at, store.ID, store.Slug, read.Data.Message)) {
			return e, nil
		}
		return e, errEnvelope
	default:
		return e, fmt.Errorf("read an event: its type is %q", e.Type)
	}
	data, begins := bytes.CutPrefix(payload, appendHead(nil, e.ID, e.Type, at, store.ID, store.Slug))
	data, ends := bytes.CutSuffix(data, []byte("}"))
	if !begins || !ends {
		return e, errEnvelope
	}
	if err := apijson.Unmarshal(data, e.Data); err != nil {
		return e, fmt.Errorf("read an event's data: %w", err)
	}
	return e, nil
}

var errEnvelope = errors.New("read an event: it is not an envelope as this service writes it")
