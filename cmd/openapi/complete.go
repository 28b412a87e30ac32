package main

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const publicPackage = "storefront.v1"

// completion completes the document that protoc-gen-connect-openapi has made. It also has the protos and the golden files,
// from which it reads what the document lacks.
type completion struct {
	doc     *document
	files   *protoregistry.Files
	goldens []golden
	// methods has each method of the protos, by its operation id in the document that the plugin made.
	methods ordered[protoreflect.MethodDescriptor]
	// bounds has the bounds of fields, by the name of the message and then by the field's JSON name. The message is a request,
	// or the answer to a request.
	bounds map[protoreflect.FullName]map[string]bounds
}

// complete completes doc, which protoc-gen-connect-openapi has made from the proto files with these names.
func complete(doc *document, files *protoregistry.Files, names []string, goldens []golden) error {
	c := &completion{
		doc: doc, files: files, goldens: goldens,
		bounds: map[protoreflect.FullName]map[string]bounds{},
	}
	for _, name := range names {
		f, err := files.FindFileByPath(name)
		if err != nil {
			return err
		}
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				d := methods.Get(j)
				c.methods.set(string(d.Parent().Name()+"_"+d.Name()), d)
			}
		}
	}
	for _, step := range []func() error{c.completeRequests, c.completeSchemas, c.completeOperations, c.describeScopes, c.addErrors,
		c.addWebhooks, c.orderPaths} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// hasBody reports whether a request to the method has a body.
func hasBody(d protoreflect.MethodDescriptor) bool {
	rule, _ := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule)
	return rule.GetBody() != ""
}

// comment returns the comment before a declaration in a proto, with one line for each paragraph. It returns an error if
// there is no comment.
func comment(d protoreflect.Descriptor) (string, error) {
	text := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "buf:") {
			lines = append(lines, line)
		}
	}
	text = strings.TrimSpace(strings.Join(lines, "\n"))
	if text == "" {
		return "", fmt.Errorf("%s has no comment for the document", d.FullName())
	}
	return oneLine.ReplaceAllString(text, "$1 $2"), nil
}

// oneLine matches a line end inside a paragraph, with the characters beside it.
var oneLine = regexp.MustCompile(`(\S)\n(\S)`)

// publicName returns the name that a message or an enum of the protos has in the document: Order.Status becomes OrderStatus.
// ListOrdersResponse becomes OrderPage, because generators reserve such names for operations.
func publicName(name protoreflect.FullName) string {
	joined := strings.ReplaceAll(strings.TrimPrefix(string(name), publicPackage+"."), ".", "")
	return listResponse.ReplaceAllString(joined, "${1}Page")
}

// listResponse matches the name of a message that has a page of a list, such as ListOrdersResponse.
var listResponse = regexp.MustCompile(`^List(\w+)sResponse$`)

// reference returns a schema that refers to the schema of the document with this name.
func reference(name string) *schema {
	return &schema{Ref: "#/components/schemas/" + name}
}

// orderPaths puts the paths into the order of their tags in the document.
func (c *completion) orderPaths() error {
	var paths ordered[*pathItem]
	for _, t := range c.doc.Tags {
		for path, item := range c.doc.Paths.all() {
			for _, op := range item.operations().all() {
				if len(op.Tags) == 1 && op.Tags[0] == t.Name {
					paths.set(path, item)
				}
			}
		}
	}
	if len(paths.names) != len(c.doc.Paths.names) {
		return fmt.Errorf("%s names a tag for %d of %d paths only", basePath, len(paths.names), len(c.doc.Paths.names))
	}
	c.doc.Paths = paths
	return nil
}

// operations returns the operations of a path by HTTP method.
func (p *pathItem) operations() ordered[*operation] {
	var found ordered[*operation]
	for _, o := range []struct {
		verb string
		op   *operation
	}{{"GET", p.Get}, {"POST", p.Post}, {"PATCH", p.Patch}} {
		if o.op != nil {
			found.set(o.verb, o.op)
		}
	}
	return found
}
