package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Probe is a request that tests one value of one field. Its path still contains variables such as {id}.
type Probe struct {
	Exchange
	// Field is the tested field in the body or the query; empty for the whole body.
	Field string
	// Plain is false for unusual dates, e-mails, URLs and ids, for which the service may be stricter than a schema can say.
	Plain bool
}

// Examples returns the document's requests of the operation or, without any, one without a body.
func (op *Operation) Examples() []Exchange {
	bare := func() Exchange {
		return Exchange{Method: op.Method, URL: &url.URL{Path: op.Path}, RequestHeader: http.Header{}}
	}
	var out []Exchange
	for _, value := range op.body.examples() {
		out = append(out, bare().withBody(value))
	}
	if out == nil {
		out = append(out, bare())
	}
	return out
}

func (b *body) examples() []any {
	if b == nil {
		return nil
	}
	media, _ := b.node["application/json"].(map[string]any)
	if value, ok := media["example"]; ok {
		return []any{value}
	}
	var out []any
	named, _ := media["examples"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if example, ok := named[name].(map[string]any); ok && example["value"] != nil {
			out = append(out, example["value"])
		}
	}
	return out
}

func (x Exchange) withBody(value any) Exchange {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot happen, because the value was read from JSON
	}
	x.RequestBody, x.RequestHeader = text, http.Header{"Content-Type": {"application/json"}}
	return x
}

// Probes returns, for each parameter and property, a request without it, with values of every type, and with values at and
// beyond its bounds. Others have a parameter that the operation lacks.
func (op *Operation) Probes() []Probe {
	return append(op.queryProbes(), op.bodyProbes()...)
}

// Defaults returns a query for each parameter with a default, set to it, to compare with none.
func (op *Operation) Defaults() []string {
	var out []string
	for _, p := range op.parameters {
		if value := p.shape.node["default"]; value != nil {
			out = append(out, url.Values{p.name: {fmt.Sprint(value)}}.Encode())
		}
	}
	return out
}

func (op *Operation) queryProbes() []Probe {
	var out []Probe
	ask := func(name string, plain bool, values ...string) {
		x := op.Examples()[0]
		x.URL = &url.URL{Path: op.Path, RawQuery: url.Values{name: values}.Encode()}
		out = append(out, Probe{x, name, plain})
	}
	ask("unknown", true, "1")
	for _, p := range op.parameters {
		if p.in != "query" {
			continue
		}
		ask(strings.ToUpper(p.name), true, "1")
		for _, v := range p.shape.values() {
			text, isText := v.value.(string)
			if !isText {
				text = scalarText(v.value)
			}
			if v.value != nil && (isText || text != "") {
				ask(p.name, v.plain, text)
				ask(p.name, v.plain, text, text)
			}
		}
		for _, text := range []string{"", " ", "+5", "05", "1e2", "1.0", "0x1", "null", "\x00"} {
			ask(p.name, false, text)
		}
	}
	return out
}

func (op *Operation) bodyProbes() []Probe {
	examples := op.body.examples()
	if examples == nil {
		return nil
	}
	base, ok := examples[0].(map[string]any)
	if !ok {
		return nil
	}
	s := op.body.types["application/json"]
	var out []Probe
	ask := func(name string, plain bool, change func(map[string]any)) {
		body := map[string]any{}
		if op.Method != http.MethodPatch || name == "" {
			body = maps.Clone(base)
		}
		change(body)
		out = append(out, Probe{op.Examples()[0].withBody(body), name, plain})
	}
	ask("", true, func(map[string]any) {})
	for _, whole := range []any{nil, true, json.Number("5"), "text", []any{}, []any{base}} {
		out = append(out, Probe{op.Examples()[0].withBody(whole), "", true})
	}
	own := s.names()
	for _, name := range own {
		if op.Method != http.MethodPatch {
			ask(name, true, func(body map[string]any) { delete(body, name) })
		}
		for _, v := range s.property(name).values() {
			ask(name, v.plain, func(body map[string]any) { body[name] = v.value })
		}
		ask(strings.ToUpper(name), true, func(body map[string]any) { body[strings.ToUpper(name)] = base[name] })
	}
	others := []string{"unknown"}
	for _, status := range []int{http.StatusOK, http.StatusCreated} {
		if a := op.answers[status]; a != nil && a.body != nil {
			others = append(others, a.body.types["application/json"].names()...)
		}
	}
	slices.Sort(others)
	for _, name := range slices.Compact(others) {
		if !slices.Contains(own, name) {
			ask(name, true, func(body map[string]any) { body[name] = "x" })
		}
	}
	return out
}

// names includes properties from references, allOf, anyOf and oneOf, sorted.
func (s *shape) names() []string {
	found := slices.Collect(maps.Keys(s.properties))
	for _, part := range slices.Concat(s.allOf, s.anyOf) {
		found = append(found, part.names()...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// value is a value to test, and whether it is plain (Probe.Plain).
type value struct {
	value any
	plain bool
}

// values has every JSON type, the listed texts, values around every bound and, for texts without a list, edgeTexts.
func (s *shape) values() []value {
	var out []value
	plain := func(values ...any) {
		for _, v := range values {
			out = append(out, value{v, true})
		}
	}
	plain(nil, true, json.Number("1.5"), []any{}, map[string]any{}, "nothing of the kind")
	for _, text := range s.texts() {
		plain(text, strings.ToLower(text), strings.ToUpper(text))
	}
	for _, keyword := range []string{"minimum", "maximum"} {
		if bound, ok := s.number(keyword); ok {
			for _, beside := range []int64{-1, 0, 1} {
				plain(json.Number(new(big.Int).Add(bound, big.NewInt(beside)).String()))
			}
		}
	}
	plain(json.Number("5"), json.Number("1e30"), json.Number("2147483648"), json.Number("9223372036854775808"))
	for _, keyword := range []string{"minLength", "maxLength"} {
		bound, ok := s.number(keyword)
		if !ok {
			continue
		}
		for _, beside := range []int64{-1, 0, 1} {
			if n := int(bound.Int64() + beside); n >= 0 {
				plain(textsOfLength(n)...)
			}
		}
	}
	if slices.Contains(s.types(), "string") && s.texts() == nil {
		plain("", " ", "a\x00b", "a\tb", "a\r\nb", "a\u0085b", "é😀", "\u2028")
		for _, edge := range edgeTexts {
			out = append(out, value{edge, false})
		}
	}
	return out
}

// edgeTexts are unusual or invalid date-times, e-mails, URLs and UUIDs. Every unlisted text gets all, because a pattern may
// stand for a format.
var edgeTexts = []string{
	"2099-10-01", "2099-02-30T00:00:00Z", "2099-10-01T00:00:00", "2099-10-01 00:00:00Z", "2099-10-01t00:00:00z",
	"2099-10-01T00:00:00.123456789Z",
	"2099-10-01T00:00:00+01:00", "2099-10-01T24:00:00Z", "2098-12-31T23:59:60Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59",
	"0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z", "2099-10-01T00:00:00+24:00",
	"2099-10-01T00:00:00,5Z", "2099-10-01T0:00:00Z", "2099-10-01T00:00Z",

	"a", "a@b", "A <a@b.example>", "é@b.example", "a b@b.example", "a@b..example", `"a b"@b.example`, `"a"@b.example`,
	`"@"@b.example`, "a@[127.0.0.1]",
	"a@é.example", "a..b@b.example", "@b.example", "a@b.example.", "a@.b.example", "a@b.example,c@d.example", "<a@b.example>",
	"a@b.example (a)", "a@b_c.example",

	"/a", "//b.example/a", "https://", "ftp://b.example/", "https://b.example", "https://b.example/a b", "https://b.example/é",
	"https://é.example/", "HTTPS://b.example/",
	"hTTp://b.example?a#b", "javascript:alert(1)", "https://b.example:0/", "https://b.example/%zz", "https://u:p@b.example/",
	"https:b.example", "https:///a",
	"https://[::1]/", "https://b.example/\u2028", "https://?", "https://b.example/\t", "https://:80/",

	"0195e000-0000-7000-8000-00000000000", "0195E000-0000-7000-8000-000000000000", "{0195e000-0000-7000-8000-000000000000}",
}

// textsOfLength counts code points. They are letters and, if it is long enough, an e-mail and a URL.
func textsOfLength(length int) []any {
	const label, url = 60, "https://b.example/"
	out := []any{strings.Repeat("é", length)}
	if length > 2*label {
		domain := strings.Repeat(strings.Repeat("b", label-1)+".", 2+length/label)
		out = append(out, strings.Repeat("a", label)+"@"+domain[len(domain)-(length-label-1)+len("com"):]+"com")
		out = append(out, url+strings.Repeat("a", length-len(url)))
	}
	return out
}

// number returns a keyword such as maximum, of the schema or its references, allOf, anyOf and oneOf.
func (s *shape) number(keyword string) (*big.Int, bool) {
	if n, ok := s.node[keyword].(json.Number); ok {
		return new(big.Int).SetString(fmt.Sprint(n), 10)
	}
	for _, part := range slices.Concat(s.allOf, s.anyOf) {
		if n, ok := part.number(keyword); ok {
			return n, true
		}
	}
	return nil, false
}
