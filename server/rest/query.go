package rest

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/ent/wire"
)

// decodeQuery sets the message's fields from the query, strictly: each parameter must be one of
// the method's, by its JSON name and once. It returns every parameter that it refused, and has
// set all the others. An empty parameter, as between two ampersands, is nothing.
func (m *method) decodeQuery(query string, message protoreflect.Message) []wire.Field {
	var refused []wire.Field
	var seen uint64
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, ok := unescape(rawName)
		if !ok {
			refused = refuseOnce(refused, rawName, "is not a percent-encoded UTF-8 name")
			continue
		}
		fd := m.parameters[name]
		if fd == nil {
			refused = refuseOnce(refused, name, "is not a parameter of this address")
			continue
		}
		bit := uint64(1) << fd.Index()
		if seen&bit != 0 {
			refused = refuseOnce(refused, name, wire.MessageRepeated)
			continue
		}
		seen |= bit
		value, ok := unescape(rawValue)
		if !ok {
			refused = refuseOnce(refused, name, "is not percent-encoded UTF-8 text")
			continue
		}
		if problem := wire.SetText(message.Interface(), fd, value); problem != "" {
			refused = refuseOnce(refused, name, problem)
		}
	}
	return refused
}

// maxRefused bounds how many refused parameters are listed, and the work of listing them.
const maxRefused = 1000

// refuseOnce adds a refused parameter unless its name is there already.
func refuseOnce(refused []wire.Field, name, message string) []wire.Field {
	if len(refused) >= maxRefused {
		return refused
	}
	for _, f := range refused {
		if f.Name == name {
			return refused
		}
	}
	return append(refused, wire.Field{Name: name, Message: message})
}

// unescape decodes one name or value of a query as application/x-www-form-urlencoded says, and
// tells whether it is well-formed and UTF-8.
func unescape(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, utf8.ValidString(s)
	}
	text, err := url.QueryUnescape(s)
	return text, err == nil && utf8.ValidString(text)
}
