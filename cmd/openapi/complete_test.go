package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// described returns a proto file with an enum and a message. The enum's first value and the message's second field have no
// comment.
func described(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{}
	require.NoError(t, prototext.Unmarshal([]byte(`
		name: "storefront/v1/colour.proto" package: "storefront.v1" syntax: "proto3"
		enum_type { name: "Colour" value { name: "COLOUR_UNSPECIFIED" number: 0 } value { name: "red" number: 1 } value { name: "blue" number: 2 } }
		message_type { name: "Paint" field { name: "layers" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL json_name: "layers" }
			field { name: "gloss" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL json_name: "gloss" }
			field { name: "salt" number: 3 type: TYPE_BYTES label: LABEL_OPTIONAL json_name: "salt" } }
		source_code_info {
			location { path: [5, 0] span: [1, 0, 9] leading_comments: " What a wall\n has.\n\n Two lines.\n" }
			location { path: [5, 0, 2, 1] span: [2, 0, 9] leading_comments: " Like blood.\n buf:lint:ignore ENUM_VALUE_UPPER_SNAKE_CASE\n" }
			location { path: [5, 0, 2, 2] span: [3, 0, 9] leading_comments: " Like the sky.\n" }
			location { path: [4, 0] span: [4, 0, 9] leading_comments: " On a wall.\n" }
			location { path: [4, 0, 2, 0] span: [5, 0, 9] leading_comments: " How many.\n" }
			location { path: [4, 0, 2, 2] span: [6, 0, 9] leading_comments: " Makes it last.\n" }
		}`), file))
	d, err := protodesc.NewFile(file, &protoregistry.Files{})
	require.NoError(t, err)
	return d
}

func TestWordsOfAnEnumLeaveOutZero(t *testing.T) {
	t.Parallel()
	s, err := enumSchema(described(t).Enums().Get(0))
	require.NoError(t, err)
	require.Equal(t, []any{"red", "blue"}, s.Enum)
	require.Equal(t, "What a wall has.\n\nTwo lines.\n\n- `red`: Like blood.\n- `blue`: Like the sky.", s.Description,
		"paragraphs stay, lines are joined, and what is said to the linter is not repeated")
}

func TestWhatHasNoCommentIsAnError(t *testing.T) {
	t.Parallel()
	message := described(t).Messages().Get(0)
	_, err := (&completion{}).messageSchema(message, false)
	require.ErrorContains(t, err, "storefront.v1.Paint.gloss has no comment")
	_, err = comment(storefrontv1.File_storefront_v1_store_proto)
	require.ErrorContains(t, err, "has no comment", "generated descriptors have none: they are those of the request")
}

func TestAKindThatNoFieldHasYetIsAnError(t *testing.T) {
	t.Parallel()
	_, err := (&completion{}).property(described(t).Messages().Get(0).Fields().ByName("salt"), false)
	require.ErrorContains(t, err, "storefront.v1.Paint.salt is of kind bytes")
}

func TestPlainNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "OrderStatus", publicName("storefront.v1.Order.Status"))
	require.Equal(t, "PaymentLinkPage", publicName("storefront.v1.ListPaymentLinksResponse"))
	require.Equal(t, "ListPaymentLinksRequestStatus", publicName("storefront.v1.ListPaymentLinksRequest.Status"))
	require.Equal(t, "Enable payment link", sentence([]rune("EnablePaymentLink")))
	require.Equal(t, "ApiKeyMissing", pascal("api_key_missing"))
	require.Equal(t, "PaymentLinkPaid", pascal("payment_link.paid"))
}
