package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/server/apierr"
	"go.storefront.example/server/auth"
)

// commonCodes are the codes with which the service may refuse a request of any operation, because they depend on the API
// key, the limits and the state of the service.
var commonCodes = []apierr.Code{
	apierr.APIKeyMissing, apierr.APIKeyInvalid, apierr.APIKeyRevoked, apierr.APIKeyExpired,
	apierr.RateLimited, apierr.InternalError, apierr.Unavailable,
}

// scopeCodes are further codes of any operation. Each operation has a response of its own for them, because the example names
// the operation's scope.
var scopeCodes = []apierr.Code{apierr.InsufficientScope, apierr.StoreUnavailable}

// bodyCodes are the further codes with which the service may refuse a request of any operation that has a body.
var bodyCodes = []apierr.Code{apierr.PayloadTooLarge, apierr.UnsupportedMediaType}

var (
	// refusedInComment finds the sentence of a method's comment that lists its error codes.
	refusedInComment = regexp.MustCompile(`Refused with ([^.]*)\.`)
	quoted           = regexp.MustCompile("`([^`]+)`")
)

func statusOf(code apierr.Code) int { return apierr.New(code, "").Status() }

// codesOf returns the error codes that a method's comment lists.
func codesOf(text string) ([]apierr.Code, error) {
	var codes []apierr.Code
	for _, sentence := range refusedInComment.FindAllStringSubmatch(text, -1) {
		for _, name := range quoted.FindAllStringSubmatch(sentence[1], -1) {
			code := apierr.Code(name[1])
			if _, ok := apierr.Meanings[code]; !ok {
				return nil, fmt.Errorf("the comment says refused with `%s`, which is not a code of the public API", code)
			}
			codes = append(codes, code)
		}
	}
	return codes, nil
}

// byStatus groups codes by HTTP status, the lowest status first.
func byStatus(codes []apierr.Code) ordered[[]apierr.Code] {
	codes = slices.Clone(codes)
	slices.SortStableFunc(codes, func(a, b apierr.Code) int { return statusOf(a) - statusOf(b) })
	var grouped ordered[[]apierr.Code]
	for _, code := range codes {
		status := strconv.Itoa(statusOf(code))
		grouped.set(status, append(grouped.get(status), code))
	}
	return grouped
}

// addRefusals adds to op the answers that refuse its requests. Their codes are validation_failed, the codes that text lists, the
// codes of every operation and, if the request has a body, the codes about bodies. d is the operation's method, and text is d's
// comment.
func (c *completion) addRefusals(verb, path string, op *operation, d protoreflect.MethodDescriptor, text string) error {
	listed, err := codesOf(text)
	if err != nil {
		return err
	}
	codes := append([]apierr.Code{apierr.ValidationFailed}, listed...)
	codes = slices.Concat(codes, scopeCodes, commonCodes)
	if hasBody(d) {
		codes = append(codes, bodyCodes...)
	}
	for status, group := range byStatus(codes).all() {
		if name := componentName(group[0]); c.doc.Components.Responses.has(name) {
			op.Responses.set(status, &response{Ref: "#/components/responses/" + name})
			continue
		}
		refused, err := c.refused(verb, path, group)
		if err != nil {
			return err
		}
		if e := refused.Content.get(mediaTypeJSON).Examples.get(string(apierr.InsufficientScope)); e != nil {
			e.Value = bytes.ReplaceAll(e.Value, []byte(recordedScope), []byte(op.Security[0].get(schemeName)[0]))
		}
		op.Responses.set(status, refused)
	}
	return nil
}

// componentName returns the name of the response that operations share for the status of a code.
func componentName(code apierr.Code) string {
	return strings.ReplaceAll(http.StatusText(statusOf(code)), " ", "")
}

// addCommonResponses adds to the document the responses that operations share.
func (c *completion) addCommonResponses() error {
	for _, group := range byStatus(slices.Concat(commonCodes, bodyCodes)).all() {
		r, err := c.refused("", "", group)
		if err != nil {
			return err
		}
		c.doc.Components.Responses.set(componentName(group[0]), r)
	}
	return nil
}

// recordedScope is the scope that the golden file of insufficient_scope names.
const recordedScope = "customers:write"

// refused returns the response for error codes that share one HTTP status, with an example for each code. An example is of a
// request to the operation with this HTTP method and path, as far as golden files have one. validation_failed needs one,
// because its details name fields of the operation.
func (c *completion) refused(verb, path string, codes []apierr.Code) (*response, error) {
	content := &mediaType{Schema: reference("Error")}
	var text []string
	for _, code := range codes {
		g, ok := findRefusal(c.goldens, verb, path, string(code))
		if !ok || code == apierr.ValidationFailed && !g.matches(verb, path) {
			return nil, fmt.Errorf("no golden file shows %s", code)
		}
		content.Examples.set(string(code), &example{Value: g.responseBody})
		text = append(text, fmt.Sprintf("- `%s`: %s", code, apierr.Meanings[code].Text))
	}
	status := statusOf(codes[0])
	r := &response{
		Description: http.StatusText(status) + "\n\n" + strings.Join(text, "\n"),
		Headers:     commonHeaders(), Content: singleton(mediaTypeJSON, content), Codes: codes,
	}
	switch status {
	case http.StatusUnauthorized:
		r.Headers.set("WWW-Authenticate", &header{Ref: "#/components/headers/WWW-Authenticate"})
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		r.Headers.set("Retry-After", &header{Ref: "#/components/headers/Retry-After"})
	}
	return r, nil
}

// pascal returns the name of the schema for a type of event: payment_link.paid becomes PaymentLinkPaid.
func pascal(code string) string {
	parts := strings.FieldsFunc(code, func(r rune) bool { return r == '_' || r == '.' })
	for i, p := range parts {
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

// addErrors adds the schema of the error body. The schema allows codes and details that a later release adds. Its extensions
// list the codes of this release, and which of them have details.
func (c *completion) addErrors() error {
	descriptor, err := c.message("ErrorDetails")
	if err != nil {
		return err
	}
	details, err := c.messageSchema(descriptor, false)
	if err != nil {
		return err
	}
	details.Required = nil
	details.Properties.get("required").Words = auth.Scopes()
	// The comment of each field of ErrorDetails quotes the error code to which the field belongs. If the field is a list of
	// known words, the comment quotes these words after the code.
	var detailed ordered[string]
	for i := range descriptor.Fields().Len() {
		fd := descriptor.Fields().Get(i)
		s := details.Properties.get(fd.JSONName())
		named := quoted.FindAllStringSubmatch(s.Description, -1)
		if named == nil {
			return fmt.Errorf("the comment of %s names no code", fd.FullName())
		}
		detailed.set(named[0][1], fd.JSONName())
		for _, word := range named[1:] {
			s.Items.Words = append(s.Items.Words, word[1])
		}
	}
	body, err := c.message("Error")
	if err != nil {
		return err
	}
	errorSchema, err := c.messageSchema(body, false)
	if err != nil {
		return err
	}
	errorSchema.Details = detailed
	errorSchema.Required = slices.DeleteFunc(errorSchema.Required, func(name string) bool { return name == "details" })
	code := errorSchema.Properties.get("code")
	code.Description += "\n"
	for status, group := range byStatus(slices.Sorted(maps.Keys(apierr.Meanings))).all() {
		for _, listedCode := range group {
			code.Words = append(code.Words, string(listedCode))
			code.Description += fmt.Sprintf("\n- `%s` (%s): %s Remedy: %s", listedCode, status, apierr.Meanings[listedCode].Text, apierr.Meanings[listedCode].Remedy)
		}
	}
	c.doc.Components.Schemas.set("ErrorDetails", details)
	c.doc.Components.Schemas.set("Error", errorSchema)
	fieldError, err := c.message("FieldError")
	if err != nil {
		return err
	}
	return c.addSchema(fieldError.FullName(), false)
}

func (c *completion) message(name protoreflect.Name) (protoreflect.MessageDescriptor, error) {
	d, err := c.files.FindDescriptorByName(protoreflect.FullName(publicPackage).Append(name))
	if err != nil {
		return nil, err
	}
	m, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no message", name)
	}
	return m, nil
}
