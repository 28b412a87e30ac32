package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// golden is one exchange that the wire tests recorded. It becomes an example in the document.
type golden struct {
	name         string
	method       string
	path         string     // path with the placeholders of the golden file
	query        url.Values // nil if the request has no query
	requestBody  json.RawMessage
	status       int
	code         string // error code of a refusal; "" for a success
	responseBody json.RawMessage
}

// readGoldens reads all exchanges whose answer is JSON, in the order of the names of their files.
func readGoldens(files fs.FS) ([]golden, error) {
	names, err := fs.Glob(files, "*.golden")
	if err != nil {
		return nil, err
	}
	var goldens []golden
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		g, err := readGolden(strings.TrimSuffix(path.Base(name), ".golden"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if g.responseBody != nil {
			goldens = append(goldens, g)
		}
	}
	// Sort by name, because the reference shows the first example, and the names put a full list before an empty one.
	slices.SortFunc(goldens, func(a, b golden) int { return strings.Compare(a.name, b.name) })
	return goldens, nil
}

// readGolden reads a golden file: the line, headers and body of the request, and then the same of the answer.
func readGolden(name string, text []byte) (golden, error) {
	g := golden{name: name}
	request, answer, ok := bytes.Cut(text, []byte("\n\nHTTP/1.1 "))
	if !ok {
		return g, errors.New("there is no answer")
	}
	line, rest, _ := bytes.Cut(request, []byte("\n"))
	method, address, _ := strings.Cut(string(line), " ")
	address, query, asked := strings.Cut(address, "?")
	g.method, g.path = method, address
	if asked {
		var err error
		if g.query, err = url.ParseQuery(query); err != nil {
			return g, err
		}
	}
	if _, body, ok := bytes.Cut(rest, []byte("\n\n")); ok && json.Valid(body) {
		g.requestBody = realistic(name, body)
	}
	line, rest, _ = bytes.Cut(answer, []byte("\n"))
	digits, _, _ := strings.Cut(string(line), " ")
	var err error
	if g.status, err = strconv.Atoi(digits); err != nil {
		return g, err
	}
	if _, body, ok := bytes.Cut(rest, []byte("\n\n")); ok && json.Valid(body) {
		g.responseBody = realistic(name, body)
	}
	if g.status >= http.StatusBadRequest {
		var refused struct{ Code string }
		if err := json.Unmarshal(g.responseBody, &refused); err != nil {
			return g, err
		}
		g.code = refused.Code
	}
	return g, nil
}

// Values of ids, codes and the store's slug in examples.
const (
	exampleID   = "0199a1f0-52d3-7c4e-9b1a-6f2d8e3c0a11"
	exampleCode = "k7m2q9xw4a"
	exampleSlug = "atelier"
)

var placeholder = regexp.MustCompile(`<([a-z-]+?)(?:-(\d+))?>`)

// realistic replaces the placeholders in a golden file's body by values. It also replaces name, the slug of the test's
// store, by exampleSlug.
func realistic(name string, body []byte) json.RawMessage {
	body = placeholder.ReplaceAllFunc(body, func(found []byte) []byte {
		parts := placeholder.FindSubmatch(found)
		number, _ := strconv.Atoi(string(parts[2]))
		switch string(parts[1]) {
		case "id":
			return fmt.Appendf(nil, "%s%02x", exampleID[:len(exampleID)-2], 16*number+1)
		case "code":
			return fmt.Appendf(nil, "%s%x", exampleCode[:len(exampleCode)-1], 9+number)
		case "reference":
			return fmt.Appendf(nil, "ORD-7K2M9QXW4%X", 9+number)
		case "request-id":
			return []byte("7d0c3f52-9a41-4e0b-8f6d-2b1c5a9e4d37")
		}
		return found
	})
	body = bytes.ReplaceAll(body, []byte("//"+name+".example"), []byte("//"+exampleSlug+".example"))
	return bytes.ReplaceAll(body, []byte(`"slug":"`+name+`"`), []byte(`"slug":"`+exampleSlug+`"`))
}

// matches reports whether the recorded exchange is a call of the operation with this method and path template.
func (g golden) matches(method, template string) bool {
	before, after, variable := strings.Cut(template, "{id}")
	if !variable {
		return g.method == method && g.path == template
	}
	id, ok := strings.CutPrefix(g.path, before)
	id, ends := strings.CutSuffix(id, after)
	return g.method == method && ok && ends && id != "" && !strings.Contains(id, "/")
}

// findRefusal returns an exchange that was refused with the code: one of the operation with this HTTP method and path template
// if there is one, otherwise one of the same method, otherwise any. It returns false if there is none.
func findRefusal(goldens []golden, method, template, code string) (golden, bool) {
	var found golden
	rank := func(g golden) int {
		switch {
		case g.matches(method, template):
			return 2
		case g.method == method:
			return 1
		}
		return 0
	}
	for _, g := range goldens {
		if g.code == code && (found.name == "" || rank(g) > rank(found)) {
			found = g
		}
	}
	return found, found.name != ""
}
