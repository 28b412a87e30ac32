package rest

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/ent/wire"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/message"
)

// decode makes the method's request message of the path's identifier, the query and the body.
// What is wrong with their content comes back as *wire.Invalid, beside a message that holds all
// that was right; the error is a refusal of the body as a whole, for its type or its size.
func (m *method) decode(x *exchange, r *http.Request, id string) (proto.Message, *wire.Invalid, error) {
	into := m.input.New()
	var invalid *wire.Invalid
	if m.hasBody {
		err := checkMediaType(r)
		if err != nil {
			return nil, nil, err
		}
	}
	buf := buffers.Get().(*[]byte)
	defer putBuffer(buf)
	body, err := readBody(x, r, buf)
	var broken *apierr.Refusal
	switch {
	case errors.Is(err, errTooLarge):
		return nil, nil, message.TooLarge(MaxBodyBytes)
	case !m.hasBody:
		// Nothing is expected, and nothing that is sent is looked at.
	case err != nil && !errors.As(err, &broken):
		return nil, nil, err
	case err != nil:
		invalid = &wire.Invalid{Message: broken.Message}
	case len(body) > 0 && len(r.Header["Content-Type"]) == 0:
		return nil, nil, unsupportedMediaType("A body must be sent with Content-Type: application/json.")
	default:
		if err := wire.Unmarshal(body, into.Interface(), m.refused...); err != nil && !errors.As(err, &invalid) {
			return nil, nil, err
		}
	}
	if r.URL.RawQuery != "" {
		if refused := m.decodeQuery(r.URL.RawQuery, into); len(refused) > 0 {
			if invalid == nil {
				invalid = &wire.Invalid{Message: "The request has invalid fields."}
			}
			invalid.Fields = append(refused, invalid.Fields...)
		}
	}
	if m.id != nil {
		into.Set(m.id, protoreflect.ValueOfString(id))
	}
	return into.Interface(), invalid, nil
}

var errTooLarge = errors.New("body too large")

// readBody reads the whole body into the buffer. The error is errTooLarge, a refusal of what broke
// off, or that of the request's context. A body whose declared length is
// too large is not read at all.
func readBody(x *exchange, r *http.Request, buf *[]byte) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > MaxBodyBytes {
		return nil, errTooLarge
	}
	arrival := message.Await(x.writer, r, 0)
	defer arrival.End()
	b := bytes.NewBuffer((*buf)[:0])
	_, err := b.ReadFrom(http.MaxBytesReader(x.writer, r.Body, MaxBodyBytes))
	*buf = b.Bytes()[:0]
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, arrival.Why(err)
	}
	return b.Bytes(), nil
}

// checkMediaType refuses a body that is declared as anything but JSON in UTF-8, or as encoded.
// A body without any declaration is refused once it turns out not to be empty.
func checkMediaType(r *http.Request) error {
	if encoding := r.Header["Content-Encoding"]; len(encoding) > 0 && !strings.EqualFold(strings.Join(encoding, ","), "identity") {
		return unsupportedMediaType("The body must be sent without Content-Encoding.")
	}
	types := r.Header["Content-Type"]
	switch {
	case len(types) == 0, len(types) == 1 && isJSON(types[0]):
		return nil
	default:
		return unsupportedMediaType("The body must be sent as application/json, in UTF-8.")
	}
}

// isJSON tells whether a Content-Type is application/json, with no parameter but charset=utf-8,
// in any case.
func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	base, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || base != "application/json" {
		return false
	}
	for name, value := range parameters {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}
