package apijson

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// Decoded is a request that was decoded in front of its handler. Invalid has the fields that could not be decoded; nil if there
// are none.
type Decoded struct {
	Message proto.Message
	Invalid *Invalid
}

type decodedKey struct{}

// WithDecoded returns a context with the decoded request.
func WithDecoded(ctx context.Context, d Decoded) context.Context {
	return context.WithValue(ctx, decodedKey{}, d)
}

// DecodedOf returns a zero Decoded if the handler's own front decodes the request.
func DecodedOf(ctx context.Context) Decoded {
	d, _ := ctx.Value(decodedKey{}).(Decoded)
	return d
}
