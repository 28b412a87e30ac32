package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/auth"
)

const (
	mediaTypeJSON = "application/json"
	// schemeName is the name of the security scheme in base.yaml.
	schemeName = "apiKey"
)

// statusInComment finds the statuses of success that a method's comment names, such as (201). If it names none, the status
// is 200.
var statusInComment = regexp.MustCompile(`\((2\d\d)\)`)

// completeOperations completes every operation of the document that protoc-gen-connect-openapi has made.
func (c *completion) completeOperations() error {
	c.addHeaders()
	if err := c.addCommonResponses(); err != nil {
		return err
	}
	found := 0
	for path, item := range c.doc.Paths.all() {
		for verb, op := range item.operations().all() {
			d := c.methods.get(op.OperationID)
			if d == nil {
				return fmt.Errorf("%s %s: the plugin's operation %q is no method", verb, path, op.OperationID)
			}
			if err := c.completeOperation(verb, path, op, d); err != nil {
				return fmt.Errorf("%s: %w", d.FullName(), err)
			}
			found++
		}
	}
	if found != len(c.methods.names) {
		return fmt.Errorf("the plugin's document has %d of %d methods", found, len(c.methods.names))
	}
	return nil
}

func (c *completion) completeOperation(verb, path string, op *operation, d protoreflect.MethodDescriptor) error {
	text, err := comment(d)
	if err != nil {
		return err
	}
	scope, _ := proto.GetExtension(d.Options(), storefrontv1.E_Scope).(string)
	if scope == "" {
		return errors.New("the method names no scope")
	}
	if err := c.tag(path, op, d.Parent()); err != nil {
		return err
	}
	name := []rune(d.Name())
	op.OperationID = strings.ToLower(string(name[:1])) + string(name[1:])
	op.Summary = sentence(name)
	op.Description = text + "\n\nNeeds the scope `" + scope + "`."
	op.Security = []ordered[[]string]{singleton(schemeName, []string{scope})}
	for _, p := range op.Parameters {
		fd := d.Input().Fields().ByJSONName(p.Name)
		if fd == nil {
			return fmt.Errorf("the plugin's parameter %s is no field", p.Name)
		}
		if p.In == "path" {
			p.Schema, err = c.property(fd, true)
			if err != nil {
				return err
			}
			p.Description, p.Schema.Description, p.Example = p.Schema.Description, "", exampleID
		} else if err := c.queryParameter(p, fd); err != nil {
			return err
		}
	}
	op.RequestBody = nil
	if hasBody(d) {
		op.RequestBody = &requestBody{Required: true, Content: singleton(mediaTypeJSON, &mediaType{
			Schema: reference(publicName(d.Input().FullName())),
		})}
	}
	return c.addResponses(verb, path, op, d, text)
}

// describeScopes lists the scopes of API keys in the document, each with the operations that need it. Each operation's
// security requirement names its scope; OpenAPI 3.1 allows this for every kind of scheme.
func (c *completion) describeScopes() error {
	scheme := c.doc.Components.SecuritySchemes.get(schemeName)
	if scheme == nil {
		return fmt.Errorf("%s has no security scheme %s", basePath, schemeName)
	}
	scheme.Description += "\n\nThe bearer scopes, and what needs each:\n"
	for _, scope := range auth.Scopes() {
		var needed []string
		for _, d := range c.methods.all() {
			if required, _ := proto.GetExtension(d.Options(), storefrontv1.E_Scope).(string); required == scope {
				needed = append(needed, sentence([]rune(d.Name())))
			}
		}
		if needed == nil {
			return fmt.Errorf("no operation needs the scope %s", scope)
		}
		scheme.Description += fmt.Sprintf("\n- `%s`: %s", scope, strings.Join(needed, ", "))
	}
	return nil
}

// tag sets the tag of the operation, which is the resource in its path. The comment of the service becomes the description
// of the tag.
func (c *completion) tag(path string, op *operation, service protoreflect.Descriptor) error {
	words := []rune(strings.ReplaceAll(strings.Split(path, "/")[2], "-", " "))
	words[0] = unicode.ToUpper(words[0])
	at := slices.IndexFunc(c.doc.Tags, func(t tag) bool { return t.Name == string(words) })
	if at < 0 {
		return fmt.Errorf("%s has no tag %q", basePath, string(words))
	}
	op.Tags = []string{c.doc.Tags[at].Name}
	var err error
	c.doc.Tags[at].Description, err = comment(service)
	return err
}

// sentence splits the name of a method into words: EnablePaymentLink becomes "Enable payment link".
func sentence(name []rune) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// addResponses adds the answers of an operation to it. text is the comment of its method.
func (c *completion) addResponses(verb, path string, op *operation, d protoreflect.MethodDescriptor, text string) error {
	op.Responses = ordered[*response]{}
	statuses := []int{http.StatusOK}
	if found := statusInComment.FindAllStringSubmatch(text, -1); found != nil {
		statuses = nil
		for _, match := range found {
			status, _ := strconv.Atoi(match[1])
			statuses = append(statuses, status)
		}
		slices.Sort(statuses)
	}
	for _, status := range statuses {
		content := &mediaType{Schema: reference(publicName(d.Output().FullName()))}
		for _, g := range c.goldens {
			if g.status != status || !g.matches(verb, path) {
				continue
			}
			content.Examples.set(g.name, &example{Value: g.responseBody})
			if g.requestBody != nil && op.RequestBody != nil {
				op.RequestBody.Content.get(mediaTypeJSON).Examples.set(g.name, &example{Value: g.requestBody})
			}
		}
		if content.Examples.IsZero() {
			return fmt.Errorf("no golden file shows a %d", status)
		}
		op.Responses.set(strconv.Itoa(status), &response{
			Description: http.StatusText(status), Headers: commonHeaders(), Content: singleton(mediaTypeJSON, content),
		})
	}
	return c.addRefusals(verb, path, op, d, text)
}
