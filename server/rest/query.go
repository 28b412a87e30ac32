package rest

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/wire"
)

// maxRefused bounds how many refused parameters are listed.
const maxRefused = 1000

// decodeQuery sets the message's fields from the query, strictly: each parameter must be one of the
// method's, by its JSON name, and occur once. It returns every refused parameter, each once, and
// sets all the others. Empty parameters, as between two ampersands, are ignored.
func (m *method) decodeQuery(query string, into proto.Message) (refused []wire.Field) {
	if query == "" {
		return nil
	}
	given, listed := map[string]bool{}, map[string]bool{}
	refuse := func(name, message string) {
		if !listed[name] && len(refused) < maxRefused {
			listed[name] = true
			refused = append(refused, wire.Field{Name: name, Message: message})
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
		case given[name]:
			refuse(name, wire.MessageRepeated)
		case !ok:
			refuse(name, "is not percent-encoded UTF-8 text")
		default:
			if problem := wire.SetText(into, fd, value); problem != "" {
				refuse(name, problem)
			}
		}
		given[name] = true
	}
	return refused
}

// unescape decodes one name or value of a query (application/x-www-form-urlencoded), and reports
// whether it is well-formed and UTF-8.
func unescape(s string) (string, bool) {
	text, err := url.QueryUnescape(s)
	return text, err == nil && utf8.ValidString(text)
}
