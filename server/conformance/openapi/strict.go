package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// The document allows the service to add properties to objects, and values to enums (x-extensible-enum), later. Today the
// service has none that the document lacks, so the checks of this package allow none.

// forbidAdditions changes a part of a document so that it allows no additions: objects may have only the listed properties, and
// texts with x-extensible-enum only the listed values.
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

// readDetails sets d.details from the document.
func (d *Document) readDetails() {
	fields, _ := d.refusal.node["x-details"].(map[string]any)
	for code, field := range fields {
		if d.details == nil {
			d.details = map[string]string{}
		}
		d.details[code] = fmt.Sprint(field)
	}
}

// checkDetails returns an error if an error body that agrees with its schema is still wrong: its status is not the answer's,
// or its details do not belong to its code.
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

// checkCode returns an error if the operation's answer does not list the code in the error body.
func (a *answer) checkCode(value any) error {
	body, _ := value.(map[string]any)
	code, _ := body["code"].(string)
	if a.codes != nil && a.codes[code] == nil {
		return fmt.Errorf("/code: %s is not among the answer's x-error-codes", code)
	}
	return nil
}

var errNoCodes = errors.New("no x-error-codes")

// readCodes reads the codes that an answer lists. It returns an error if an answer with a status from 400 on lists none.
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
