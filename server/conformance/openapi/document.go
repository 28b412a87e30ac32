// Package openapi checks exchanges under /v1, and deliveries of webhooks, against an OpenAPI 3.1 document, in both directions:
// each answer must be in the document, and the document must allow each request that was served. It records which parts were
// seen, so that tests find parts that the service never uses, and makes requests that the document does not allow.
//
// A validator of JSON Schema 2020-12 checks the schemas. Of OpenAPI the package reads only what the service's document uses:
// parameters in paths, queries and headers, each one scalar; JSON bodies; and statuses that are numbers. Read refuses other
// parts. The package knows no operation, field or code of the service.
package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Document is a parsed OpenAPI document. Goroutines may share it.
type Document struct {
	root       any
	compiler   *jsonschema.Compiler
	shapes     map[string]*shape
	marks      map[string]*mark
	operations []*Operation
	webhooks   map[string]*webhook
	// refusal is the error body's schema, of every status from 400 on. details has, by code, the only member of "details".
	refusal *shape
	details map[string]string
	// headers are those that any answer may have, by canonical name; true if it must.
	headers map[string]bool
}

// Operation is one operation of the document.
type Operation struct {
	// ID is the operationId.
	ID string
	// Method is in upper case, and Path has variables in braces.
	Method, Path string
	node         map[string]any
	parameters   []*parameter
	body         *body
	answers      map[int]*answer
}

type parameter struct {
	name, in string
	required bool
	shape    *shape
	seen     *mark
}

// body has the schemas of a request, an answer or a delivery, by media type.
type body struct {
	isRequest bool
	required  bool
	types     map[string]*shape
	node      map[string]any
}

type answer struct {
	seen    *mark
	body    *body
	headers map[string]*parameter // by canonical name
	codes   map[string]*mark      // the codes that the error body may have; nil for a success
}

// location names the document for the validator. It is never fetched.
const location = "openapi.json"

// Read parses JSON or YAML, and compiles all schemas.
func Read(text []byte) (*Document, error) {
	var loose any
	if err := yaml.Unmarshal(text, &loose); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	strict, err := json.Marshal(loose)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	d := &Document{compiler: jsonschema.NewCompiler(), shapes: map[string]*shape{}, marks: map[string]*mark{},
		webhooks: map[string]*webhook{}}
	if d.root, err = decode(strict); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	forbidAdditions(d.root)
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	for name, validate := range formats {
		d.compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: validate})
	}
	if err := d.compiler.AddResource(location, d.root); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	if err := d.read(); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return d, nil
}

func (d *Document) read() error {
	paths, err := d.object("/paths")
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		pointer := "/paths/" + escape(path)
		item, err := d.object(pointer)
		if err != nil {
			return err
		}
		for _, method := range methods {
			if item[strings.ToLower(method)] == nil {
				continue
			}
			op, err := d.operation(method, path, pointer)
			if err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			d.operations = append(d.operations, op)
		}
	}
	d.headers = commonHeaders(d.operations)
	if d.refusal, err = d.shapeAt("/components/schemas/Error"); err != nil {
		return err
	}
	d.readDetails()
	return d.readWebhooks()
}

// commonHeaders has the headers of any answer of the operations; true if every answer must have it.
func commonHeaders(operations []*Operation) map[string]bool {
	out := map[string]bool{}
	var answers []*answer
	for _, op := range operations {
		answers = slices.AppendSeq(answers, maps.Values(op.answers))
	}
	for _, a := range answers {
		for name := range a.headers {
			out[name] = !slices.ContainsFunc(answers, func(other *answer) bool {
				return other.headers[name] == nil ||
					!other.headers[name].required
			})
		}
	}
	return out
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	http.MethodTrace,
}

func (d *Document) operation(method, path, item string) (*Operation, error) {
	pointer := item + "/" + strings.ToLower(method)
	node, err := d.object(pointer)
	if err != nil {
		return nil, err
	}
	op := &Operation{Method: method, Path: path, node: node, answers: map[int]*answer{}}
	if op.ID, _ = node["operationId"].(string); op.ID == "" {
		return nil, errors.New("no operationId")
	}
	for _, place := range []string{item, pointer} {
		parameters, err := d.parameters(op.ID, place+"/parameters", "path", "query")
		if err != nil {
			return nil, err
		}
		op.parameters = append(op.parameters, parameters...)
	}
	if op.body, err = d.body(pointer + "/requestBody"); err != nil {
		return nil, err
	}
	if op.body != nil {
		op.body.isRequest = true
	}
	responses, err := d.object(pointer + "/responses")
	if err != nil {
		return nil, err
	}
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		number, err := strconv.Atoi(status)
		if err != nil {
			return nil, fmt.Errorf("the answer %s is no single status", status)
		}
		if op.answers[number], err = d.answer(op.ID+" "+status, pointer+"/responses/"+status, number); err != nil {
			return nil, fmt.Errorf("the answer %s: %w", status, err)
		}
	}
	return op, nil
}

// parameters returns nil without a list. It refuses an "in" that is not in kinds: "path" or "query" for operations, "header"
// for webhooks. owner names these in errors and marks.
func (d *Document) parameters(owner, pointer string, kinds ...string) ([]*parameter, error) {
	list, _ := d.find(pointer).([]any)
	var out []*parameter
	for i := range list {
		place, node, err := d.resolve(pointer + "/" + strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		p := &parameter{}
		p.name, _ = node["name"].(string)
		p.in, _ = node["in"].(string)
		p.required, _ = node["required"].(bool)
		if p.name == "" || !slices.Contains(kinds, p.in) || node["content"] != nil {
			return nil, fmt.Errorf("%s: the parameter %q in %q is of no kind that is understood", owner, p.name, p.in)
		}
		if p.shape, err = d.shapeAt(place + "/schema"); err != nil {
			return nil, err
		}
		p.seen = d.mark(owner + " " + p.in + " parameter " + p.name)
		out = append(out, p)
	}
	return out, nil
}

// body returns nil if the place has no object with content.
func (d *Document) body(pointer string) (*body, error) {
	if d.find(pointer) == nil {
		return nil, nil
	}
	place, node, err := d.resolve(pointer)
	if err != nil {
		return nil, err
	}
	content, ok := node["content"].(map[string]any)
	if !ok {
		return nil, nil
	}
	b := &body{types: map[string]*shape{}, node: content}
	b.required, _ = node["required"].(bool)
	for kind := range content {
		if b.types[kind], err = d.shapeAt(place + "/content/" + escape(kind) + "/schema"); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (d *Document) answer(owner, pointer string, status int) (*answer, error) {
	place, node, err := d.resolve(pointer)
	if err != nil {
		return nil, err
	}
	a := &answer{seen: d.mark(owner), headers: map[string]*parameter{}}
	if a.body, err = d.body(pointer); err != nil {
		return nil, err
	}
	headers, _ := node["headers"].(map[string]any)
	for name := range headers {
		headerPointer, header, err := d.resolve(place + "/headers/" + escape(name))
		if err != nil {
			return nil, err
		}
		p := &parameter{name: name, in: "header", seen: d.mark(owner + " header " + name)}
		p.required, _ = header["required"].(bool)
		if p.shape, err = d.shapeAt(headerPointer + "/schema"); err != nil {
			return nil, err
		}
		a.headers[http.CanonicalHeaderKey(name)] = p
	}
	return a, d.readCodes(a, owner, status, node)
}

// Scopes are in the operation's first security requirement.
func (op *Operation) Scopes() []string {
	var out []string
	requirements, _ := op.node["security"].([]any)
	for _, requirement := range requirements[:min(1, len(requirements))] {
		schemes, _ := requirement.(map[string]any)
		for _, scopes := range schemes {
			list, _ := scopes.([]any)
			for _, scope := range list {
				out = append(out, fmt.Sprint(scope))
			}
		}
	}
	return out
}

// Operations are sorted by path and method.
func (d *Document) Operations() []*Operation { return d.operations }

// Codes returns the codes of answers with this status, sorted.
func (op *Operation) Codes(status int) []string {
	if a := op.answers[status]; a != nil {
		return slices.Sorted(maps.Keys(a.codes))
	}
	return nil
}

// Statuses returns the statuses of answers, sorted.
func (op *Operation) Statuses() []int { return slices.Sorted(maps.Keys(op.answers)) }

// operationFor may return nil. HEAD has the operation of GET, unless the document has its own (RFC 9110, section 9.3.2).
func (d *Document) operationFor(method, path string) *Operation {
	segments := strings.Split(path, "/")
	var get *Operation
	for _, op := range d.operations {
		want := strings.Split(op.Path, "/")
		if !slices.EqualFunc(want, segments, func(w, s string) bool { return w == s || strings.HasPrefix(w, "{") && s != "" }) {
			continue
		}
		switch op.Method {
		case method:
			return op
		case http.MethodGet:
			get = op
		}
	}
	if method == http.MethodHead {
		return get
	}
	return nil
}
