package rest

import (
	"errors"
	"net/http"
	"strings"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
)

// accept checks the scope, the type and the size of a request under /v1 whose method is found, and
// reads its body. It returns the function that releases the body. If the method takes no body, only
// its size is checked.
func (e *Edge) accept(x *exchange) (release func(), err error) {
	m, r, release := x.method, x.incoming, func() {}
	if err := x.principal.Require(m.scope); err != nil {
		return release, err
	}
	if m.hasBody {
		if err := checkMediaType(r); err != nil {
			return release, err
		}
	} else if r.ContentLength == 0 {
		return release, nil
	}
	body, release := message.Buffer()
	body.WriteByte(markJSON)
	err = m.bounds.Body(x.writer, r, body)
	var refused *apierr.Refusal
	switch broken := errors.As(err, &refused) && refused.Code == apierr.ValidationFailed; {
	case err != nil && !broken:
		return release, err
	case !m.hasBody:
		// The method takes no body and ignores what was sent.
	case broken:
		x.broken = &wire.Invalid{Message: refused.Message}
	case body.Len() > 1 && len(r.Header["Content-Type"]) == 0:
		return release, apierr.New(apierr.UnsupportedMediaType, "A body must be sent with Content-Type: application/json.")
	default:
		x.body.Reset(body.Bytes())
	}
	return release, nil
}

// problems returns all that is wrong with a request's content, nil if nothing: with its query,
// which it reads into the message, and with its body. The message holds the valid parts.
func (x *exchange) problems(m proto.Message) *wire.Invalid {
	invalid := wire.TakeInvalid(m)
	if x.broken != nil {
		invalid = x.broken
	}
	if refused := x.method.decodeQuery(x.query, m); len(refused) > 0 {
		if invalid == nil {
			invalid = &wire.Invalid{Message: "The request has invalid fields."}
		}
		invalid.Fields = append(refused, invalid.Fields...)
	}
	return invalid
}

// checkMediaType refuses a body that is declared as anything but JSON in UTF-8, or as encoded. A
// body without any declaration is refused once it turns out not to be empty.
func checkMediaType(r *http.Request) error {
	if encoding := r.Header["Content-Encoding"]; len(encoding) > 0 && !strings.EqualFold(strings.Join(encoding, ","), "identity") {
		return apierr.New(apierr.UnsupportedMediaType, "The body must be sent without Content-Encoding.")
	}
	types := r.Header["Content-Type"]
	if base, charset := message.MediaType(types); len(types) > 0 && (base != "application/json" || charset == message.CharsetOther) {
		return apierr.New(apierr.UnsupportedMediaType, "The body must be sent as application/json, in UTF-8.")
	}
	return nil
}
