package apijson

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// Decoded is a request that was decoded in front of its handler. Message has the fields that could be decoded, and Invalid
// has the others; it is nil if there are none.
type Decoded struct {
	Message proto.Message
	Invalid *Invalid
}

type decodedKey struct{}

// WithDecoded returns a context with the decoded request.
func WithDecoded(ctx context.Context, d Decoded) context.Context {
	return context.WithValue(ctx, decodedKey{}, d)
}

// DecodedOf returns the context's decoded request, or a zero Decoded if the handler's own front decodes the request.
func DecodedOf(ctx context.Context) Decoded {
	d, _ := ctx.Value(decodedKey{}).(Decoded)
	return d
}
