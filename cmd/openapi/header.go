package main

import (
	"time"

	"go.storefront.example/server/limit"
)

// headers are the headers of answers, except Content-Type (specification, Limits and Authentication errors). common is true
// for a header that every answer has.
var headers = []struct {
	name, description string
	common            bool
	schema            schema
}{
	{"X-RateLimit-Limit", "Requests that the key may make in a minute.", true, integerSchema(limit.RequestsPerMinute,
		limit.RequestsPerMinute)},
	{"X-RateLimit-Remaining", "Requests that are left in this minute.", true, integerSchema(0, limit.RequestsPerMinute)},
	{"X-RateLimit-Reset", "Seconds until the counter restarts from zero.", true, integerSchema(1, int64(time.Minute/time.Second))},
	{"X-Request-Id", "The identifier of the request, as in `requestId` of an error.", true, schema{Type: types{"string"},
		Format: "uuid"}},
	{"Cache-Control", "Forbids caches to keep the answer.", true, schema{Type: types{"string"}, Words: []string{"no-store"}}},
	{"Retry-After", "Seconds to wait before the next request.", false, integerSchema(1, int64(time.Minute/time.Second))},
	{"WWW-Authenticate", "The scheme that is asked for.", false, schema{Type: types{"string"},
		Words: []string{`Bearer realm="Service API"`}}},
}

// integerSchema returns the schema of a whole number from least to most.
func integerSchema(least, most int64) schema {
	return schema{Type: types{"integer"}, Minimum: &least, Maximum: &most}
}

func (c *completion) addHeaders() {
	for _, h := range headers {
		c.doc.Components.Headers.set(h.name, &header{Description: h.description, Required: true, Schema: &h.schema})
	}
}

// commonHeaders returns references to those headers that every answer has.
func commonHeaders() ordered[*header] {
	var found ordered[*header]
	for _, h := range headers {
		if h.common {
			found.set(h.name, &header{Ref: "#/components/headers/" + h.name})
		}
	}
	return found
}
