package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// The document allows additions: objects without additionalProperties may get other properties, and x-extensible-enum lists
// only today's values. The service has no additions today, so the checks here allow none.

// narrow closes a part of a document in place: objects may have only the listed properties, and texts only the listed values.
func narrow(node any) {
	switch node := node.(type) {
	case []any:
		for _, in := range node {
			narrow(in)
		}
	case map[string]any:
		for name, in := range node {
			if name != "example" && name != "examples" {
				narrow(in)
			}
		}
		_, listed := node["properties"].(map[string]any)
		if node["type"] == "object" && listed && node["additionalProperties"] == nil {
			node["additionalProperties"] = false
		}
		if words, is := node["x-extensible-enum"].([]any); is {
			if kinds, several := node["type"].([]any); several && slices.Contains(kinds, any("null")) {
				words = append(slices.Clone(words), nil)
			}
			node["enum"] = words
		}
	}
}

// readDetails reads which code has which field of an error's details.
func (d *Document) readDetails() {
	fields, _ := d.refusal.node["x-details"].(map[string]any)
	for code, field := range fields {
		if d.details == nil {
			d.details = map[string]string{}
		}
		d.details[code] = fmt.Sprint(field)
	}
}

// consistent returns what is wrong with the body of a refusal besides its schema: a status other than the answer's, or details
// of another code.
func (d *Document) consistent(status int, value any) error {
	body, _ := value.(map[string]any)
	if given, _ := body["statusCode"].(json.Number); given.String() != strconv.Itoa(status) {
		return fmt.Errorf("/statusCode: got %v, want %d", body["statusCode"], status)
	}
	if d.details == nil {
		return nil
	}
	code, _ := body["code"].(string)
	details, given := body["details"].(map[string]any)
	field, wanted := d.details[code]
	switch {
	case given && !wanted:
		return fmt.Errorf("/details: %s has none", code)
	case wanted && (len(details) != 1 || details[field] == nil):
		return fmt.Errorf("/details: %s has %s alone", code, field)
	}
	return nil
}

// listed returns an error if the answer does not list the code of a refusal.
func (a *answer) listed(value any) error {
	body, _ := value.(map[string]any)
	code, _ := body["code"].(string)
	if a.codes != nil && a.codes[code] == nil {
		return fmt.Errorf("/code: %s is not among the answer's x-error-codes", code)
	}
	return nil
}

var errNoCodes = errors.New("no x-error-codes")

// readCodes reads the codes that an answer lists. Every refusal lists at least one.
func (d *Document) readCodes(a *answer, owner string, status int, node map[string]any) error {
	codes, _ := node["x-error-codes"].([]any)
	if status >= http.StatusBadRequest && len(codes) == 0 {
		return errNoCodes
	}
	for _, code := range codes {
		if a.codes == nil {
			a.codes = map[string]*mark{}
		}
		a.codes[fmt.Sprint(code)] = d.mark(owner + " " + fmt.Sprint(code))
	}
	return nil
}
