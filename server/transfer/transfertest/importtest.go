// Package transfertest has complete objects of the API as lines of an import, for tests.
package transfertest

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/google/uuid"
)

// Fields is an object of the API, as a map that tests can change.
type Fields map[string]any

// With returns a copy with one field changed.
func (f Fields) With(name string, value any) Fields {
	changed := maps.Clone(f)
	changed[name] = value
	return changed
}

// Without returns a copy without a field.
func (f Fields) Without(name string) Fields {
	changed := maps.Clone(f)
	delete(changed, name)
	return changed
}

// Lines returns the objects as JSON, one a line.
func Lines(objects ...Fields) *bytes.Reader {
	var b bytes.Buffer
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			panic(err)
		}
		b.Write(append(text, '\n'))
	}
	return bytes.NewReader(b.Bytes())
}

// OneProduct returns a product with all fields and a new id.
func OneProduct() Fields {
	id := uuid.NewString()
	return Fields{
		"id": id, "title": "Guide", "slug": "guide-" + id[:8], "type": "FILE", "status": "PUBLISHED", "summary": "s",
		"description": "d",
		"priceAmount": 500, "compareAtAmount": 900, "currency": "XAF", "url": "https://old.example/guide", "coverUrl": nil,
		"publishedAt": "2025-01-02T00:00:00.000Z", "createdAt": "2025-01-01T00:00:00.000Z", "updatedAt": "2025-01-03T00:00:00.000Z",
	}
}

// OneCustomer returns a customer with all fields and a new id.
func OneCustomer() Fields {
	id := uuid.NewString()
	return Fields{
		"id": id, "name": "Awa", "email": id[:8] + "@example.com", "phone": nil,
		"ordersCount": 3, "totalPaid": 4500, "currency": "XAF", "createdAt": "2025-01-01T00:00:00.000Z",
	}
}

// OneOrder returns a PAID order of the buyer with all fields and a new id.
func OneOrder(buyer Fields) Fields {
	id := uuid.NewString()
	return Fields{
		"id": id, "reference": "R-" + id[:8], "status": "PAID", "amount": 1000, "currency": "XAF", "platformFeePercent": 2.5,
		"customer": Fields{"id": buyer["id"], "name": buyer["name"], "email": buyer["email"], "phone": buyer["phone"]},
		"items": []Fields{{
			"id": uuid.NewString(), "productId": uuid.NewString(), "type": "FILE", "title": "Guide", "unitAmount": 500, "quantity": 2,
		}},
		"paymentLink": nil, "note": nil, "paidAt": "2025-02-02T00:00:00.000Z", "createdAt": "2025-02-01T00:00:00.000Z",
	}
}
