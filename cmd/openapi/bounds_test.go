package main

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func TestBoundsAreThoseOfTheProto(t *testing.T) {
	t.Parallel()
	doc := written(t)
	update, link := doc.Components.Schemas.get("UpdateProductRequest"), doc.Components.Schemas.get("CreatePaymentLinkRequest")
	customer := doc.Components.Schemas.get("UpdateCustomerRequest")
	for _, row := range []struct {
		of      *schema
		name    string
		want    bounds
		because string
	}{
		{update, "title", bounds{minLength: new(1), maxLength: new(200)}, "a title is never empty"},
		{update, "summary", bounds{maxLength: new(500)}, "a summary may be"},
		{update, "compareAtAmount", bounds{nullable: true, minimum: new(int64(0)), maximum: new(int64(1<<53 - 1))}, "null removes it"},
		{link, "title", bounds{required: true, minLength: new(1), maxLength: new(200)}, "a link cannot do without"},
		{link, "expiresAt", bounds{nullable: true}, "a moment has no bounds"},
		{link, "maxPayments", bounds{nullable: true, minimum: new(int64(1)), maximum: new(int64(math.MaxInt32))}, "32 bits"},
		{customer, "phone", bounds{nullable: true, minLength: new(1), maxLength: new(250)}, "longer than one that is answered"},
	} {
		s := row.of.Properties.get(row.name)
		got := bounds{
			required: slices.Contains(row.of.Required, row.name), nullable: len(s.Type) == 2,
			minLength: s.MinLength, maxLength: s.MaxLength, minimum: s.Minimum, maximum: s.Maximum,
		}
		require.Equal(t, row.want, got, "%s: %s", row.name, row.because)
		require.Equal(t, s.Type[0] == "string", s.Pattern != "", "%s: a text has the pattern that its proto declares, a moment that "+
			"of every request", row.name)
	}
}

func TestBoundsThatTheDocumentHasNoWordsForAreAnError(t *testing.T) {
	t.Parallel()
	file := &descriptorpb.FileDescriptorProto{}
	require.NoError(t, prototext.Unmarshal([]byte(`
		name: "a.proto" syntax: "proto3"
		message_type { name: "Paint" field { name: "gloss" number: 1 type: TYPE_BYTES label: LABEL_OPTIONAL json_name: "gloss"
			options { [buf.validate.field] { bytes { min_len: 1 } } } } }`), file))
	d, err := protodesc.NewFile(file, &protoregistry.Files{})
	require.NoError(t, err)
	_, err = boundsOf(d.Messages().Get(0).Fields().Get(0))
	require.ErrorContains(t, err, "Paint.gloss declares bounds that the document has no words for")
	_, err = boundsOf((&storefrontv1.UpdateProductRequest{}).ProtoReflect().Descriptor().Fields().ByName("title"))
	require.ErrorContains(t, err, "has no comment", "what null does is read from the comment, which generated descriptors lack")
}
