package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/apierr"
)

// maxRefused is how many refused parameters an answer lists.
const maxRefused = 1000

// notInBody are names of fields that no body under /v1 may contain: the id is in the path, and the edge itself sets
// updateMask, from the names of the body's fields.
var notInBody = []string{"id", "updateMask"}

// check refuses a request under /v1 with a wrong query or body. Its error lists all wrong fields, and also those that the
// rules of the shop refuse. check decodes query and body itself, because vanguard would accept unknown and repeated
// parameters, and values of wrong types. It returns the query with the values in the spelling that vanguard reads.
func (e *Edge) check(ctx context.Context, m *method, query string, body []byte) (string, error) {
	if query == "" && !m.hasBody {
		return "", nil
	}
	in := m.input.New().Interface()
	var invalid *apijson.Invalid
	if m.hasBody {
		errors.As(apijson.Unmarshal(body, in, notInBody...), &invalid)
	}
	values, refused := m.decodeQuery(query, in)
	if len(refused) > 0 {
		if invalid == nil {
			invalid = &apijson.Invalid{Message: "The request has invalid fields."}
		}
		invalid.Fields = append(refused, invalid.Fields...)
	}
	return values, e.refuseInvalid(ctx, in, invalid)
}

// refuseInvalid refuses a message if some of its fields could not be decoded. The error lists these fields and the fields
// that the rules of the shop refuse.
func (e *Edge) refuseInvalid(ctx context.Context, in proto.Message, invalid *apijson.Invalid) error {
	if invalid == nil {
		return nil
	}
	if err := e.config.ExplainInvalid(ctx, in, invalid); err != nil {
		return err
	}
	return apierr.Invalid(invalid.Message, invalid.Fields...)
}

// decodeQuery sets fields of a message to the parameters of a query. It refuses parameters that the method lacks, and
// repeated ones. It returns the parameters that it accepted, in the spelling that vanguard reads, and the refused ones. It
// ignores empty parameters, as between two ampersands.
func (m *method) decodeQuery(query string, into proto.Message) (values string, refused []apijson.Field) {
	seen, listed, taken := map[string]bool{}, map[string]bool{}, url.Values{}
	refuse := func(name, message string) {
		if !listed[name] && len(refused) < maxRefused {
			listed[name] = true
			refused = append(refused, apijson.Field{Name: name, Message: message})
		}
	}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, ok := unescape(rawName)
		if !ok {
			refuse(rawName, "is not a percent-encoded UTF-8 name")
			continue
		}
		fd := m.parameters[name]
		value, ok := unescape(rawValue)
		switch {
		case fd == nil:
			refuse(name, "is not a parameter of this address")
		case seen[name]:
			refuse(name, apijson.MessageRepeated)
		case !ok:
			refuse(name, "is not percent-encoded UTF-8 text")
		default:
			if problem := apijson.SetText(into, fd, value); problem != "" {
				refuse(name, problem+plusProblem(into, fd, rawValue))
			}
			taken.Set(name, plainText(into, fd, value))
		}
		seen[name] = true
	}
	return taken.Encode(), refused
}

// plusProblem explains a common mistake: an unescaped + in a query means a space, so the offset of a date-time such as
// 10:00+01:00 is lost. It returns the explanation if the value would be valid with a +, otherwise "".
func plusProblem(m proto.Message, fd protoreflect.FieldDescriptor, raw string) string {
	meant, ok := unescape(strings.ReplaceAll(raw, "+", "%2B"))
	if !ok || !strings.Contains(raw, "+") || apijson.SetText(m.ProtoReflect().New().Interface(), fd, meant) != "" {
		return ""
	}
	return "; a + in a query means a space, and must be written %2B"
}

// plainText returns a value in the spelling that vanguard reads. Only integers and date-times have other spellings; other
// values stay as they were sent.
func plainText(m proto.Message, fd protoreflect.FieldDescriptor, text string) string {
	switch fd.Kind() {
	case protoreflect.StringKind, protoreflect.EnumKind:
		return text
	case protoreflect.MessageKind:
		at, _ := m.ProtoReflect().Get(fd).Message().Interface().(*timestamppb.Timestamp)
		return at.AsTime().Format(time.RFC3339Nano)
	default:
		return m.ProtoReflect().Get(fd).String()
	}
}

// unescape decodes a name or a value of a query (application/x-www-form-urlencoded). It reports whether the text is
// well-formed and UTF-8.
func unescape(s string) (string, bool) {
	text, err := url.QueryUnescape(s)
	return text, err == nil && utf8.ValidString(text)
}

// readBody reads the body of a request, of at most MaxBodyBytes.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	switch {
	case r.ContentLength == 0:
		return nil, nil
	case r.ContentLength > MaxBodyBytes:
		return nil, tooLarge()
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	var tooBig *http.MaxBytesError
	switch {
	case err == nil:
		return body, nil
	case errors.As(err, &tooBig):
		return nil, tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, apierr.Invalid("The body did not arrive in time.")
	case r.Context().Err() != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.Context().Err()
	default:
		return nil, apierr.Invalid("The body could not be read to its end.")
	}
}

func tooLarge() error { return apierr.New(apierr.PayloadTooLarge, "The body is larger than 1 MiB.") }

// checkMediaType refuses a body whose headers declare an encoding, or a type other than JSON in UTF-8. A body without
// Content-Type is refused later, unless it is empty.
func checkMediaType(h http.Header) error {
	if encoding := h["Content-Encoding"]; len(encoding) > 0 && !strings.EqualFold(strings.Join(encoding, ","), "identity") {
		return apierr.New(apierr.UnsupportedMediaType, "The body must be sent without Content-Encoding.")
	}
	if len(h["Content-Type"]) > 0 && !isJSON(h) {
		return apierr.New(apierr.UnsupportedMediaType, "The body must be sent as application/json, in UTF-8.")
	}
	return nil
}

// isJSON reports whether a request has exactly one Content-Type, and this is JSON in UTF-8. It ignores parameters other than
// charset.
func isJSON(h http.Header) bool {
	if len(h["Content-Type"]) != 1 {
		return false
	}
	base, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset, hasCharset := parameters["charset"]
	return err == nil && base == "application/json" && (!hasCharset || strings.EqualFold(charset, "utf-8"))
}

// DecodeCall decodes a Connect call into a message if its body is JSON, and leaves the body for the handler. It returns all
// fields that it cannot decode, because Connect's own error names only one. For calls of other forms it does nothing.
func DecodeCall(w http.ResponseWriter, r *http.Request, in proto.Message) (*apijson.Invalid, error) {
	if r.Method != http.MethodPost || !isJSON(r.Header) || r.Header.Get("Content-Encoding") != "" {
		return nil, nil
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	r.Header["Content-Type"] = contentTypeJSON
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	var invalid *apijson.Invalid
	errors.As(apijson.Codec{}.Unmarshal(body, in), &invalid)
	return invalid, nil
}
