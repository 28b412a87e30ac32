package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// The document allows the service to add properties and values of enums (x-extensible-enum) later. Today it has none, so the
// checks allow none.

// forbidAdditions allows only the listed properties, and the listed values of x-extensible-enum.
func forbidAdditions(node any) {
	switch node := node.(type) {
	case []any:
		for _, in := range node {
			forbidAdditions(in)
		}
	case map[string]any:
		for name, in := range node {
			if name != "example" && name != "examples" {
				forbidAdditions(in)
			}
		}
		_, listed := node["properties"].(map[string]any)
		if node["type"] == "object" && listed && node["additionalProperties"] == nil {
			node["additionalProperties"] = false
		}
		if words, ok := node["x-extensible-enum"].([]any); ok {
			if kinds, several := node["type"].([]any); several && slices.Contains(kinds, any("null")) {
				words = append(slices.Clone(words), nil)
			}
			node["enum"] = words
		}
	}
}

func (d *Document) readDetails() {
	fields, _ := d.refusal.node["x-details"].(map[string]any)
	for code, field := range fields {
		if d.details == nil {
			d.details = map[string]string{}
		}
		d.details[code] = fmt.Sprint(field)
	}
}

// checkDetails refuses an error body with another status, or with details that do not belong to its code.
func (d *Document) checkDetails(status int, value any) error {
	body, _ := value.(map[string]any)
	if statusCode, _ := body["statusCode"].(json.Number); statusCode.String() != strconv.Itoa(status) {
		return fmt.Errorf("/statusCode: got %v, want %d", body["statusCode"], status)
	}
	if d.details == nil {
		return nil
	}
	code, _ := body["code"].(string)
	details, hasDetails := body["details"].(map[string]any)
	field, needsDetails := d.details[code]
	switch {
	case hasDetails && !needsDetails:
		return fmt.Errorf("/details: %s has none", code)
	case needsDetails && (len(details) != 1 || details[field] == nil):
		return fmt.Errorf("/details: %s has %s alone", code, field)
	}
	return nil
}

func (a *answer) checkCode(value any) error {
	body, _ := value.(map[string]any)
	code, _ := body["code"].(string)
	if a.codes != nil && a.codes[code] == nil {
		return fmt.Errorf("/code: %s is not among the answer's x-error-codes", code)
	}
	return nil
}

var errNoCodes = errors.New("no x-error-codes")

// readCodes fails if an answer with a status from 400 on lists none.
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
