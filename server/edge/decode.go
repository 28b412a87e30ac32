package edge

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/apierr"
)

// maxRefused is how many refused parameters an answer lists.
const maxRefused = 1000

// notInBody are refused in bodies under /v1: the id is in the path, and the edge sets updateMask from the names of the body's
// fields.
var notInBody = []string{"id", "updateMask"}

// decode is the only decoding of a request under /v1, because vanguard would accept unknown and repeated parameters, and values
// of wrong types.
func (m *method) decode(path, query string, body []byte) apijson.Decoded {
	d := apijson.Decoded{Message: m.input.New().Interface()}
	if m.hasBody {
		errors.As(apijson.Unmarshal(body, d.Message, notInBody...), &d.Invalid)
	}
	if refused := m.decodeQuery(query, d.Message); len(refused) > 0 {
		if d.Invalid == nil {
			d.Invalid = &apijson.Invalid{Message: "The request has fields that cannot be used; details.fields lists them."}
		}
		d.Invalid.Fields = append(refused, d.Invalid.Fields...)
	}
	if m.variable != nil {
		value := strings.TrimSuffix(strings.TrimPrefix(path, m.before), m.after)
		d.Message.ProtoReflect().Set(m.variable, protoreflect.ValueOfString(strings.ToValidUTF8(value, "%")))
	}
	return d
}

// decodeQuery returns the parameters that it refuses: unknown and repeated ones, and wrong values. It ignores empty ones, as
// between two ampersands.
func (m *method) decodeQuery(query string, into proto.Message) (refused []apijson.Field) {
	if query == "" {
		return nil
	}
	seen, listed := map[string]bool{}, map[string]bool{}
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
		}
		seen[name] = true
	}
	return refused
}

// plusProblem explains that an unescaped + in a query means a space, as in 10:00+01:00, if the value would be valid with a +;
// otherwise "".
func plusProblem(m proto.Message, fd protoreflect.FieldDescriptor, raw string) string {
	meant, ok := unescape(strings.ReplaceAll(raw, "+", "%2B"))
	if !ok || !strings.Contains(raw, "+") || apijson.SetText(m.ProtoReflect().New().Interface(), fd, meant) != "" {
		return ""
	}
	return "; a + in a query means a space, and must be written %2B"
}

// unescape decodes application/x-www-form-urlencoded, and reports whether the text is well-formed and UTF-8.
func unescape(s string) (string, bool) {
	text, err := url.QueryUnescape(s)
	return text, err == nil && utf8.ValidString(text)
}

// readBody reads at most MaxBodyBytes.
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

// checkMediaType refuses an encoding, or a type other than JSON in UTF-8. A body without Content-Type is refused later, unless
// it is empty.
func checkMediaType(h http.Header) error {
	if encoding := h["Content-Encoding"]; len(encoding) > 0 && !strings.EqualFold(strings.Join(encoding, ","), "identity") {
		return apierr.New(apierr.UnsupportedMediaType, "The body must be sent without Content-Encoding.")
	}
	if len(h["Content-Type"]) > 0 && !isJSON(h) {
		return apierr.New(apierr.UnsupportedMediaType, "The body must be sent as application/json, in UTF-8.")
	}
	return nil
}

// isJSON requires exactly one Content-Type. It ignores parameters other than charset.
func isJSON(h http.Header) bool {
	if len(h["Content-Type"]) != 1 {
		return false
	}
	base, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset, hasCharset := parameters["charset"]
	return err == nil && base == "application/json" && (!hasCharset || strings.EqualFold(charset, "utf-8"))
}

// DecodeCall decodes a Connect call with a JSON body into in, because Connect's own error names only one field. The returned
// request, for Connect, has the message in its context and an empty body. Other calls it returns as they are.
func DecodeCall(w http.ResponseWriter, r *http.Request, in proto.Message) (*http.Request, error) {
	if r.Method != http.MethodPost || !isJSON(r.Header) || r.Header.Get("Content-Encoding") != "" {
		return r, nil
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	d := apijson.Decoded{Message: in}
	errors.As(apijson.Codec{}.Unmarshal(body, in), &d.Invalid)
	r = r.WithContext(apijson.WithDecoded(r.Context(), d))
	r.Header["Content-Type"] = contentTypeJSON
	setEmptyBody(r)
	return r, nil
}

// emptyBody is what Connect reads in place of a decoded body.
const emptyBody = "{}"

func setEmptyBody(r *http.Request) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(emptyBody)), int64(len(emptyBody))
}
