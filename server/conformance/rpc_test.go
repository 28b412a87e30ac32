package conformance_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

func procedureOf(m proto.Message) string {
	d := methodOf(m)
	return fmt.Sprintf("/%s/%s", d.Parent().FullName(), d.Name())
}

type connectJSON struct{}

func (connectJSON) name() string { return "connect-json" }

func (connectJSON) call(b *bench, m proto.Message) answer {
	b.Helper()
	body, err := json.Marshal(encodedTyped(m))
	require.NoError(b, err)
	return connectJSON{}.post(b, procedureOf(m), body)
}

func (connectJSON) post(b *bench, procedure string, body []byte) answer {
	b.Helper()
	a, text := b.send(http.MethodPost, procedure, body, "Connect-Protocol-Version", "1")
	require.Equal(b, "application/json", a.header.Get("Content-Type"))
	a.body = decodedObject(b, text)
	if a.status == http.StatusOK {
		return a
	}
	var refusal struct {
		Code    string
		Details []struct{ Type, Value string }
	}
	require.NoError(b, json.Unmarshal(text, &refusal))
	require.Len(b, refusal.Details, 1, "%s", text)
	require.Equal(b, "storefront.v1.Error", refusal.Details[0].Type)
	value, err := base64.RawStdEncoding.DecodeString(refusal.Details[0].Value)
	require.NoError(b, err)
	detail := &storefrontv1.Error{}
	require.NoError(b, proto.Unmarshal(value, detail))
	require.Equal(b, a.status, connectStatus[refusal.Code], refusal.Code)
	return refusalOf(b, detail, refusal.Code, a.header)
}

// connectStatus has the HTTP statuses of Connect's codes.
var connectStatus = map[string]int{
	"canceled": 499, "unknown": 500, "invalid_argument": 400, "deadline_exceeded": 504, "not_found": 404,
	"already_exists": 409, "permission_denied": 403, "resource_exhausted": 429, "failed_precondition": 400,
	"aborted": 409, "out_of_range": 400, "unimplemented": 501, "internal": 500, "unavailable": 503,
	"data_loss": 500, "unauthenticated": 401,
}

// refusalOf converts a refusal of a typed protocol to one with the error body of /v1.
func refusalOf(b *bench, detail *storefrontv1.Error, protocol string, header http.Header) answer {
	b.Helper()
	body := encoded(detail.ProtoReflect())
	delete(body, "details")
	if d := detail.GetDetails(); d != nil {
		all := encoded(d.ProtoReflect())
		shape := map[string]string{"insufficient_scope": "required", "validation_failed": "fields",
			"product_incomplete": "missing"}[detail.GetCode()]
		require.NotEmpty(b, shape, "%s has no details: %v", detail.GetCode(), d)
		body["details"] = object{shape: all[shape]}
		for name, value := range all {
			if name != shape {
				require.Empty(b, value, "%s has no %s", detail.GetCode(), name)
			}
		}
	}
	return answer{
		status: int(detail.GetStatusCode()), header: header, protocol: protocol,
		body: normal(b, body).(map[string]any),
	}
}

type rpcProtocol struct {
	label    string
	h2c      bool
	protocol func() connect.ClientOption // nil means Connect
}

var (
	connectBinary = &rpcProtocol{label: "connect-binary"}
	grpc          = &rpcProtocol{label: "grpc", h2c: true, protocol: connect.WithGRPC}
	grpcWeb       = &rpcProtocol{label: "grpc-web", protocol: connect.WithGRPCWeb}
)

func (f *rpcProtocol) name() string { return f.label }

func (f *rpcProtocol) call(b *bench, m proto.Message) answer {
	b.Helper()
	httpClient := b.plain
	if f.h2c {
		httpClient = b.h2c
	}
	options := []connect.ClientOption{connect.WithCodec(frameCodec{})}
	if f.protocol != nil {
		options = append(options, f.protocol())
	}
	client := connect.NewClient[frame, frame](httpClient, b.url+procedureOf(m), options...)
	content, err := proto.Marshal(m)
	require.NoError(b, err)
	request := connect.NewRequest(&frame{content})
	b.authorize(request.Header())
	response, err := client.CallUnary(context.Background(), request)
	if err != nil {
		var refusal *connect.Error
		require.True(b, errors.As(err, &refusal), "%v", err)
		require.Len(b, refusal.Details(), 1, "%v", err)
		value, err := refusal.Details()[0].Value()
		require.NoError(b, err)
		detail, ok := value.(*storefrontv1.Error)
		require.True(b, ok, "%T", value)
		require.Equal(b, refusal.Message(), detail.GetMessage())
		return refusalOf(b, detail, refusal.Code().String(), refusal.Meta())
	}
	output, err := protoregistry.GlobalTypes.FindMessageByName(methodOf(m).Output().FullName())
	require.NoError(b, err)
	message := output.New()
	require.NoError(b, proto.Unmarshal(response.Msg.content, message.Interface()))
	require.Empty(b, message.GetUnknown())
	return answer{
		status: http.StatusOK, header: response.Header(),
		body: normal(b, encoded(message)).(map[string]any),
	}
}

// frame has an encoded message, so that one generic client calls all methods.
type frame struct{ content []byte }

// frameCodec passes frames on under the name of the binary format, and decodes the status messages of gRPC.
type frameCodec struct{}

func (frameCodec) Name() string { return "proto" }

func (frameCodec) Marshal(v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok {
		return proto.Marshal(m)
	}
	return v.(*frame).content, nil
}

func (frameCodec) Unmarshal(data []byte, v any) error {
	if m, ok := v.(proto.Message); ok {
		return proto.Unmarshal(data, m)
	}
	v.(*frame).content = slices.Clone(data)
	return nil
}
