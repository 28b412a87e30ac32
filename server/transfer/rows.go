package transfer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/erase"
	"go.storefront.example/ent/hook"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/paymentlink"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/validate"
)

// These kinds of rows are in exports only.
const (
	Links      Kind = "links"
	Events     Kind = "events"
	Deliveries Kind = "deliveries"
	Activity   Kind = "activity"
	Webhooks   Kind = "webhooks"
	Keys       Kind = "keys"
)

// WholeExport is the kind that Finish gets for an export of all kinds.
const WholeExport Kind = "export"

// ExportedKinds are the kinds of rows in every export, in the order in which to import them: rows refer only to rows of
// earlier kinds.
var ExportedKinds = []Kind{Products, Customers, Links, Orders, Events, Deliveries, Activity}

// SecretKinds are the kinds that are only in an export with secrets. They are imported last, so that no key is accepted
// before the store has all its rows.
var SecretKinds = []Kind{Webhooks, Keys}

// ContentReady is the beginning of the last member in the JSON of an exported product. This member is true if there is
// something to deliver to a buyer. Export adds it, because the product's message has no such field.
const ContentReady = `,"contentReady":`

// Rows imports rows of an export, with their ids and counters and without a journal entry. Rows that the store has do not
// change. Deliveries that had not finished are left out.
func (m *Importer) Rows(ctx context.Context, in *adminv1.ImportRowsRequest) (*adminv1.ImportResponse, error) {
	lines := bytes.Split([]byte(strings.TrimSuffix(in.GetLines(), "\n")), []byte("\n"))
	switch Kind(in.GetKind()) {
	case Products:
		ready := map[int]bool{}
		for i, line := range lines {
			if message, value, found := bytes.Cut(line, []byte(ContentReady)); found {
				ready[i] = string(value) == "true}"
				lines[i] = append(message, '}')
			}
		}
		return loadLines(ctx, m, in, lines, &products{contentReady: ready})
	case Customers:
		return loadLines(ctx, m, in, lines, &customers{})
	case Links:
		return loadLines(ctx, m, in, lines, &verbatim[*storefrontv1.PaymentLink]{table: paymentlink.Table, all: paymentlink.Columns, columns: []string{"code",
			"url", "title", "description", "cover_url", "pricing", "amount", "min_amount", "thank_you_message", "expires_at",
			"max_payments", "disabled_at", "paid_count", "paid_amount", "last_paid_at", "created_at", "updated_at"}, values: linkValues})
	case Orders:
		return loadLines(ctx, m, in, lines, &orders{})
	case Events:
		return loadLines(ctx, m, in, lines, &verbatim[*adminv1.Event]{table: event.Table, all: event.Columns, columns: []string{"type", "payload",
			"customer_id", "created_at"}, values: eventValues})
	case Deliveries:
		return loadLines(ctx, m, in, lines, &verbatim[*adminv1.Delivery]{table: "finished_deliveries", columns: []string{"webhook_id",
			"event_id", "event_type", "status", "attempts", "created_at", "finished_at"}, values: deliveryValues})
	case Activity:
		return loadLines(ctx, m, in, lines, &verbatim[*adminv1.ActivityEntry]{table: activityentry.Table, all: activityentry.Columns, columns: []string{
			"actor_type", "actor_id", "actor_name", "action", "resource_type", "resource_id", "changes", "created_at"},
			values: activityValues})
	case Webhooks:
		if _, err := m.webhooks.Sealer(ctx); err != nil {
			return nil, err
		}
		return loadLines(ctx, m, in, lines, &webhookRows{webhooks: m.webhooks})
	case Keys:
		return loadLines(ctx, m, in, lines, &keyRows{})
	}
	var names []string
	for _, kind := range slices.Concat(ExportedKinds, SecretKinds) {
		names = append(names, string(kind))
	}
	return nil, apierr.Invalid("The kind is not imported.", apijson.Field{Name: "kind", Message: "must be one of " +
		strings.Join(names, ", ")})
}

// loadLines imports lines of JSON. If it cannot parse some, it imports nothing and refuses these.
func loadLines[M proto.Message, R any](ctx context.Context, m *Importer, in *adminv1.ImportRowsRequest, lines [][]byte,
	k kind[M, R]) (*adminv1.ImportResponse, error) {
	k.base().exported = true
	var bad refusedRows
	messages := make([]M, len(lines))
	for i, line := range lines {
		messages[i] = messages[i].ProtoReflect().New().Interface().(M) //nolint:errcheck // It is one.
		invalid, ok := errors.AsType[*apijson.Invalid](apijson.Unmarshal(line, messages[i]))
		if ok && len(invalid.Fields) > 0 {
			bad.refuse(i, invalid.Fields[0].Name, invalid.Fields[0].Message)
		} else if ok {
			bad.refuse(i, "", invalid.Message)
		}
	}
	if len(bad.refusals) > 0 {
		return &adminv1.ImportResponse{Refused: bad.refusals}, nil
	}
	return load(ctx, m, in.GetKind(), messages, &adminv1.ImportOptions{}, k)
}

// verbatim is a batch of rows that are stored unchanged, without events, journal entries and changes of counters.
type verbatim[M interface {
	proto.Message
	GetId() string
}] struct {
	batch[[]any]
	table string
	// columns are those that values fills, in this order, without id and store_id. values returns nil for a row to leave out.
	columns []string
	values  func(*problems, M) []any
	// all are the table's columns, of which read also fills plainColumns; nil for none.
	all []string
}

// plainColumns returns the table's columns that have the name of a field of the message, except id, store_id and b.columns.
// They are filled with the values of these fields (see plainValue).
func (b *verbatim[M]) plainColumns() (columns []string) {
	var m M
	fields := m.ProtoReflect().Descriptor().Fields()
	for _, column := range b.all {
		if fields.ByName(protoreflect.Name(column)) != nil && column != "id" && column != "store_id" && !slices.Contains(b.columns, column) {
			columns = append(columns, column)
		}
	}
	return columns
}

func (b *verbatim[M]) read(p *problems, in M) row[[]any] {
	l := row[[]any]{id: p.RowID("id", in.GetId()), data: b.values(p, in)}
	for _, column := range b.plainColumns() {
		if fd := in.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(column)); l.data != nil {
			l.data = append(l.data, p.plainValue(fd.JSONName(), in.ProtoReflect(), fd))
		}
	}
	for _, value := range l.data {
		if text, ok := value.(string); ok && !validate.Storable(text) {
			p.Invalid("", "must be UTF-8 text without NUL")
		}
	}
	return l
}

func (b *verbatim[M]) plan(c *hook.Change) error {
	_, err := b.sort(c, b.table)
	b.fresh = slices.DeleteFunc(b.fresh, func(l row[[]any]) bool { return l.data == nil })
	return err
}

func (b *verbatim[M]) store(c *hook.Change) error {
	insert := sql.Dialect(b.db.Dialect()).Insert(b.table).Columns(slices.Concat([]string{"id", "store_id"}, b.columns,
		b.plainColumns())...)
	for _, l := range b.fresh {
		insert.Values(append([]any{l.id, b.t.ID}, l.data...)...)
	}
	query, args := insert.Query()
	if _, err := c.Tx.ExecContext(c, query, args...); err != nil {
		return err
	}
	return erase.RestartForgettings(c, b.t.ID) // the rows may contain data of a customer who was erased
}

func (p *problems) requiredTime(field string, at *timestamppb.Timestamp) time.Time {
	if at == nil {
		p.Invalid(field, "is required")
	}
	return p.timeOrZero(field, at)
}

func linkValues(p *problems, in *storefrontv1.PaymentLink) []any {
	p.storeCurrency(in.GetCurrency())
	p.URL("url", &in.Url)
	p.requiredEnum("pricing", in.GetPricing())
	p.NotID("code", in.GetCode())
	p.Amount("amount", in.Amount, validate.PaymentBound)
	p.Amount("minAmount", in.MinAmount, validate.PaymentBound)
	p.rule(shop.CheckPricing(paymentlink.Pricing(in.GetPricing().String()), in.Amount, in.MinAmount))
	if in.MaxPayments != nil && in.GetMaxPayments() < 1 {
		p.Invalid("maxPayments", "must be a whole number from 1")
	}
	return []any{p.requiredText("code", in.GetCode(), maxReferenceRunes), in.GetUrl(), p.title("title", in.GetTitle()),
		p.OptionalText("description", in.Description, validate.MaxDescriptionRunes), p.URL("coverUrl", in.CoverUrl),
		in.GetPricing().String(), in.Amount, in.MinAmount,
		p.OptionalText("thankYouMessage", in.ThankYouMessage, validate.MaxDescriptionRunes),
		p.Time("expiresAt", in.GetExpiresAt()), in.MaxPayments, p.Time("disabledAt", in.GetDisabledAt()),
		p.nonNegative("paidCount", int64(in.GetPaidCount())), p.nonNegative("paidAmount", in.GetPaidAmount()),
		p.Time("lastPaidAt", in.GetLastPaidAt()), p.requiredTime("createdAt", in.GetCreatedAt()),
		p.requiredTime("updatedAt", in.GetUpdatedAt())}
}

func eventValues(p *problems, in *adminv1.Event) []any {
	p.eventType("type", in.GetType())
	payload, buyer := []byte(in.GetPayload()), uuid.Nil
	if in.GetPayload() != hook.Forgotten {
		read, err := hook.ReadEnvelope(payload)
		if err != nil || read.ID.String() != in.GetId() || read.Type != in.GetType() {
			p.Invalid("payload", "must be the text of this event, as it is sent to webhooks")
		}
		buyer = hook.CustomerOf(read.Data)
	}
	return []any{in.GetType(), payload, buyer, p.requiredTime("createdAt", in.GetCreatedAt())}
}

func (p *problems) eventType(field, text string) {
	if text != hook.Ping && !slices.Contains(hook.EventTypes(), text) {
		p.Invalid(field, "must be a type of event")
	}
}

func deliveryValues(p *problems, in *adminv1.Delivery) []any {
	if in.GetFinishedAt() == nil {
		return nil
	}
	p.requiredEnum("status", in.GetStatus())
	p.eventType("eventType", in.GetEventType())
	attempts := make([]string, len(in.GetAttempts())) // the attempts as JSON, as the column stores them
	for i, a := range in.GetAttempts() {
		p.requiredTime("attempts", a.GetStartedAt())
		attempts[i] = string(apijson.Marshal(a))
	}
	return []any{p.RowID("webhookId", in.GetWebhookId()), p.RowID("eventId", in.GetEventId()), in.GetEventType(),
		in.GetStatus().String(), []byte("[" + strings.Join(attempts, ",") + "]"),
		p.requiredTime("createdAt", in.GetCreatedAt()), p.requiredTime("finishedAt", in.GetFinishedAt())}
}

func activityValues(p *problems, in *adminv1.ActivityEntry) []any {
	actor, res := in.GetActor(), in.GetResource()
	p.requiredEnum("actor.type", actor.GetType())
	if resourceType, _, dotted := strings.Cut(in.GetAction(), "."); !dotted || resourceType != res.GetType() ||
		!actionForm.MatchString(in.GetAction()) {
		p.Invalid("action", "must be the resource's type with what was done, such as product.updated")
	}
	return []any{actor.GetType().String(), p.Text("actor.id", actor.GetId(), maxReferenceRunes),
		p.line("actor.name", actor.GetName(), maxReferenceRunes), in.GetAction(), res.GetType(), p.RowID("resource.id", res.GetId()),
		p.changes("changes", res.GetType(), in.GetChanges()), p.requiredTime("createdAt", in.GetCreatedAt())}
}

var (
	actionForm = regexp.MustCompile(`^[a-z_]{1,64}\.[a-z_]{1,64}$`)
	fieldForm  = regexp.MustCompile(`^[A-Za-z]{1,64}$`)
)

// changes checks the changes in a journal entry, such as {"title":{"from":"a","to":"b"}}. About a customer or an order it
// accepts only fields that the journal writes, with short texts, numbers, booleans and null, so that an erasure finds all
// personal data.
func (p *problems) changes(field, resourceType, text string) []byte {
	var changes map[string]map[string]any
	if !jsontext.Value(text).IsValid() || json.Unmarshal([]byte(text), &changes) != nil || changes == nil {
		p.Invalid(field, "must be the text of a JSON object of fields with from and to")
		return nil
	}
	longest := map[string]int{"name": validate.MaxCustomerNameRunes, "note": validate.MaxNoteRunes}
	for name, sides := range changes {
		if !hook.Journaled(resourceType, name) && (isPersonal(resourceType) || !fieldForm.MatchString(name)) {
			p.Invalid(field, "must have fields of the resource only")
		}
		for side, value := range sides {
			path := field + "." + name + "." + side
			switch value := value.(type) {
			case nil, bool, float64:
			case string:
				if isPersonal(resourceType) {
					p.Text(path, value, cmp.Or(longest[name], validate.MaxEmailRunes))
				}
			default:
				if isPersonal(resourceType) {
					p.Invalid(path, "must be a text, a number or null")
				}
			}
			if side != "from" && side != "to" {
				p.Invalid(field, "must have from and to of each field, and nothing else")
			}
		}
	}
	return []byte(text)
}

func isPersonal(resourceType string) bool {
	return resourceType == "customer" || resourceType == "order"
}
