package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Exchange is a request under /v1 with its answer.
type Exchange struct {
	Method        string
	URL           *url.URL
	RequestHeader http.Header
	RequestBody   []byte
	Status        int
	Header        http.Header
	Body          []byte
}

// transportHeaders may be in an answer because HTTP defines them (RFC 9110, section 6.6.1; RFC 9112, sections 6 and 9.6).
var transportHeaders = []string{"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Vary"}

// Check returns an error if the answer is not in the document, or a request was served that the document does not allow. It
// marks the parts that the exchange shows as seen.
func (d *Document) Check(x Exchange) error {
	op := d.operationFor(x.Method, x.URL.EscapedPath())
	if op == nil {
		if err := errors.Join(d.checkRefusal(x), d.checkHeaders(x)); err != nil {
			return fmt.Errorf("%s %s, which is no operation: %d: %w", x.Method, x.URL.Path, x.Status, err)
		}
		return nil
	}
	value, err := op.checkAnswer(x)
	if err != nil {
		return fmt.Errorf("%s: answer %d: %w", op.ID, x.Status, err)
	}
	if x.Status >= http.StatusBadRequest {
		if err := d.checkRefusal(x); err != nil {
			return fmt.Errorf("%s: answer %d: %w", op.ID, x.Status, err)
		}
		op.coverAnswer(x, value)
		return nil
	}
	op.coverAnswer(x, value)
	if err := op.Allows(x); err != nil {
		return fmt.Errorf("%s: answered %d to a request that the document refuses: %w", op.ID, x.Status, err)
	}
	op.coverRequest(x)
	return nil
}

// checkRefusal requires the error body, which all refusals have, even those of unknown addresses.
func (d *Document) checkRefusal(x Exchange) error {
	if x.Status < http.StatusBadRequest {
		return errors.New("it was served")
	}
	if x.Method == http.MethodHead {
		return nil
	}
	value, err := (&body{types: map[string]*shape{"application/json": d.refusal}}).validate(x.Header, x.Body)
	if err != nil {
		return fmt.Errorf("as a refusal: %w", err)
	}
	if err := d.checkDetails(x.Status, value); err != nil {
		return fmt.Errorf("as a refusal: %w", err)
	}
	d.refusal.cover(value)
	return nil
}

// checkHeaders is for an address without an operation, whose answer has only the headers of all answers, and Allow (RFC 9110,
// section 15.5.6).
func (d *Document) checkHeaders(x Exchange) error {
	for name, required := range d.headers {
		if required && len(x.Header[name]) != 1 {
			return fmt.Errorf("the header %s stands %d times", name, len(x.Header[name]))
		}
	}
	for name := range x.Header {
		if _, ok := d.headers[name]; !ok && name != "Allow" && !slices.Contains(transportHeaders, name) {
			return fmt.Errorf("the document has no header %s", name)
		}
	}
	return nil
}

func (op *Operation) checkAnswer(x Exchange) (any, error) {
	a := op.answers[x.Status]
	if a == nil {
		return nil, fmt.Errorf("the document has no such status: %.300s", x.Body)
	}
	for name, values := range x.Header {
		header := a.headers[name]
		switch {
		case header != nil:
			if err := header.validate(values); err != nil {
				return nil, err
			}
		case !slices.Contains(transportHeaders, name):
			return nil, fmt.Errorf("the document has no header %s", name)
		}
	}
	for name, header := range a.headers {
		if header.required && len(x.Header[name]) == 0 {
			return nil, fmt.Errorf("the header %s is missing", header.name)
		}
	}
	if x.Method == http.MethodHead && op.Method != http.MethodHead {
		return nil, nil
	}
	if a.body == nil {
		if len(x.Body) > 0 {
			return nil, fmt.Errorf("the document has no body: %.300s", x.Body)
		}
		return nil, nil
	}
	value, err := a.body.validate(x.Header, x.Body)
	if err != nil {
		return nil, err
	}
	return value, a.checkCode(value)
}

func (op *Operation) coverAnswer(x Exchange, value any) {
	a := op.answers[x.Status]
	a.seen.set()
	for name := range x.Header {
		if header := a.headers[name]; header != nil {
			header.cover(x.Header[name])
		}
	}
	if value == nil {
		return
	}
	a.body.shapeFor(x.Header).cover(value)
	if refusal, ok := value.(map[string]any); ok && a.codes != nil {
		code, _ := refusal["code"].(string)
		a.codes[code].set()
	}
}

// Allows returns why the document does not allow a request of this operation, or nil.
func (op *Operation) Allows(x Exchange) error {
	query, err := url.ParseQuery(x.URL.RawQuery)
	if err != nil {
		return fmt.Errorf("the query: %w", err)
	}
	steps := strings.Split(x.URL.Path, "/")
	for i, step := range strings.Split(op.Path, "/") {
		if name, ok := strings.CutPrefix(step, "{"); ok && i < len(steps) {
			query[pathPrefix+strings.TrimSuffix(name, "}")] = []string{steps[i]}
		}
	}
	for name, values := range query {
		p := op.parameter(name)
		if p == nil {
			return fmt.Errorf("the document has no parameter %s", name)
		}
		if err := p.validate(values); err != nil {
			return err
		}
	}
	for _, p := range op.parameters {
		if p.required && len(query[p.key()]) == 0 {
			return fmt.Errorf("the parameter %s is missing", p.name)
		}
	}
	switch {
	case op.body == nil:
	case len(x.RequestBody) > 0:
		_, err := op.body.validate(x.RequestHeader, x.RequestBody)
		return err
	case op.body.required:
		return errors.New("the body is missing")
	}
	return nil
}

func (op *Operation) coverRequest(x Exchange) {
	for name, values := range x.URL.Query() {
		op.parameter(name).cover(values)
	}
	for _, p := range op.parameters {
		if p.in == "path" {
			p.seen.set()
		}
	}
	if op.body == nil || len(x.RequestBody) == 0 {
		return
	}
	if value, err := decode(x.RequestBody); err == nil {
		op.body.shapeFor(x.RequestHeader).cover(value)
	}
}

// pathPrefix distinguishes path variables from query parameters of the same name.
const pathPrefix = "path "

func (p *parameter) key() string {
	if p.in == "path" {
		return pathPrefix + p.name
	}
	return p.name
}

func (op *Operation) parameter(key string) *parameter {
	for _, p := range op.parameters {
		if p.key() == key {
			return p
		}
	}
	return nil
}

func (p *parameter) validate(values []string) error {
	if len(values) != 1 {
		return fmt.Errorf("the %s parameter %s stands %d times", p.in, p.name, len(values))
	}
	if err := p.shape.validate(p.value(values[0])); err != nil {
		return fmt.Errorf("the %s parameter %s is %.100q: %w", p.in, p.name, values[0], err)
	}
	return nil
}

func (p *parameter) cover(values []string) {
	p.seen.set()
	p.shape.cover(p.value(values[0]))
}

var (
	integer      = regexp.MustCompile(`^-?[0-9]+$`)
	number       = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	leadingZeros = regexp.MustCompile(`^(-?)0+([0-9])`)
)

// value converts a text to the schema's type if it can. As in the service, 05 is 5.
func (p *parameter) value(text string) any {
	for _, kind := range p.shape.types() {
		if kind == "integer" && integer.MatchString(text) || kind == "number" && number.MatchString(text) {
			return json.Number(leadingZeros.ReplaceAllString(text, "$1$2"))
		}
		if kind == "boolean" && (text == "true" || text == "false") {
			return text == "true"
		}
	}
	return trimmed(text)
}

// shapeFor returns the schema of the media type, or nil. A charset must be UTF-8; a request may have other parameters.
func (b *body) shapeFor(header http.Header) *shape {
	kind, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	charset, hasCharset := parameters["charset"]
	if err != nil || hasCharset && !strings.EqualFold(charset, "utf-8") || !b.isRequest && len(parameters) > 1 || !b.isRequest &&
		len(parameters) == 1 && !hasCharset {
		return nil
	}
	return b.types[kind]
}

// validate returns the value in a body, or an error: it is no JSON, breaks its schema, or is of an unknown media type.
func (b *body) validate(header http.Header, text []byte) (any, error) {
	s := b.shapeFor(header)
	if s == nil {
		return nil, fmt.Errorf("the document has no content of type %q", header.Get("Content-Type"))
	}
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the body is no JSON: %w", err)
	}
	if err := s.validate(b.normalize(value)); err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	return value, nil
}

// normalize trims a request's texts, as the service does.
func (b *body) normalize(value any) any {
	if b.isRequest {
		return trimmed(value)
	}
	return value
}

// trimmed removes white space around all texts. The service counts lengths without it, which JSON Schema cannot express.
func trimmed(value any) any {
	switch value := value.(type) {
	case string:
		return strings.TrimSpace(value)
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, in := range value {
			out[name] = trimmed(in)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, in := range value {
			out[i] = trimmed(in)
		}
		return out
	}
	return value
}
