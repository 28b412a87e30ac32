package conformance_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"go.storefront.example/client"
	"go.storefront.example/client/webhook"
	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// golang is the Go client, which runs in this process without a driver.
var golang = language{name: "go"}

// goClient gives the same results as driver.
type goClient struct {
	t    *testing.T
	shop *client.Client
}

func openGo(t *testing.T, url string) *goClient {
	t.Helper()
	shop, err := client.New(url, "svc_live_x", client.WithMaxRetries(0))
	require.NoError(t, err)
	return &goClient{t, shop}
}

// call passes "1" for string parameters, and the zero value for all others.
func (g *goClient) call(_, resource, method string, _ arguments) result {
	g.t.Helper()
	operations := reflect.ValueOf(g.shop).Elem().FieldByName(strings.ToUpper(resource[:1]) + resource[1:])
	function := operations.MethodByName(strings.ToUpper(method[:1]) + method[1:])
	in := []reflect.Value{reflect.ValueOf(g.t.Context())}
	for i := 1; i < function.Type().NumIn(); i++ {
		value := reflect.New(function.Type().In(i)).Elem()
		if value.Kind() == reflect.String {
			value.SetString("1")
		}
		in = append(in, value)
	}
	out := function.Call(in)
	var refused *client.Error
	if err, failed := out[1].Interface().(error); failed {
		require.ErrorAs(g.t, err, &refused)
		return result{Refused: &refusal{Code: string(refused.Code), Status: refused.Status, RequestID: refused.RequestID,
			Message: err.Error()}}
	}
	return result{Answer: written(out[0].Interface().(proto.Message))}
}

// written returns the API's JSON. An enum's zero value becomes "", as in the other clients.
func written(m proto.Message) json.RawMessage {
	return json.RawMessage(unspecified.Replace(string(apijson.Marshal(m))))
}

var unspecified = strings.NewReplacer(`"STATUS_UNSPECIFIED"`, `""`, `"TYPE_UNSPECIFIED"`, `""`, `"PRICING_UNSPECIFIED"`, `""`,
	`"AVAILABILITY_UNSPECIFIED"`, `""`)

func (g *goClient) verify(body []byte, header any, now, _ int64, secrets ...string) result {
	g.t.Helper()
	event, err := webhook.Verify(body, header.(string), secrets[0], webhook.WithNow(func() time.Time { return time.Unix(now, 0) }))
	if err != nil {
		require.ErrorIs(g.t, err, webhook.ErrPayload)
		return result{Refused: &refusal{Code: "payload", Message: err.Error()}}
	}
	answer := map[string]any{"store": event.Store}
	switch data := event.Data.(type) {
	case proto.Message:
		answer["data"] = written(data)
	case *webhook.PingData:
		ping := map[string]any{"message": data.Message}
		if !data.SentAt.IsZero() {
			ping["sentAt"] = data.SentAt.Format("2006-01-02T15:04:05.000Z")
		}
		answer["data"] = ping
	}
	answer["class"] = map[webhook.Type]string{webhook.OrderPaid: "OrderPaidEvent", webhook.CustomerCreated: "CustomerCreatedEvent",
		webhook.ProductPublished: "ProductPublishedEvent", webhook.Ping: "PingEvent"}[event.Type]
	text, err := json.Marshal(answer)
	require.NoError(g.t, err)
	return result{Answer: text}
}

// answerConnect sends the JSON body of a /v1 answer by Connect, with a field that no client knows.
func answerConnect(w http.ResponseWriter, r *http.Request, status int, body []byte) error {
	lenient := protojson.UnmarshalOptions{DiscardUnknown: true}
	if status >= http.StatusBadRequest {
		refused := &storefrontv1.Error{}
		if err := lenient.Unmarshal(body, refused); err != nil {
			return err
		}
		text, err := json.Marshal(map[string]any{"code": "unknown", "message": refused.GetMessage(), "details": []any{
			map[string]any{"type": "storefront.v1.Error", "value": base64.RawStdEncoding.EncodeToString(encoded(refused))},
		}})
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, err = w.Write(text)
		return err
	}
	service, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + method))
	if err != nil {
		return err
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(found.(protoreflect.MethodDescriptor).Output().FullName())
	if err != nil {
		return err
	}
	answer := kind.New().Interface()
	if err := lenient.Unmarshal(body, answer); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/proto")
	_, err = w.Write(encoded(answer))
	return err
}

func encoded(m proto.Message) []byte {
	text, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return protowire.AppendBytes(protowire.AppendTag(text, 1000, protowire.BytesType), []byte("newer"))
}
