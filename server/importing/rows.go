package importing

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/queue"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/activityentry"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/paymentlink"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// The kinds of rows that only an export has.
const (
	Links      Kind = "links"
	Events     Kind = "events"
	Deliveries Kind = "deliveries"
	Activity   Kind = "activity"
)

// WholeExport is all kinds of an export, in Finish.
const WholeExport Kind = "export"

// ExportedKinds are the kinds of an export's rows that Rows imports, in the order in which they need each other.
var ExportedKinds = []Kind{Products, Customers, Links, Orders, Events, Deliveries, Activity}

// ContentReady begins the last member of an exported product, the one that the API does not show.
const ContentReady = `,"contentReady":`

// Rows imports rows of an export. Ids are kept, and so are counters, which orders do not count again; the journal has no
// entry for the rows. What the store has is left as it is, and deliveries that had not ended are left out. It refuses
// with validation_failed.
func (m *Importer) Rows(ctx context.Context, in *adminv1.ImportRowsRequest) (*adminv1.ImportResponse, error) {
	lines := bytes.Split([]byte(strings.TrimSuffix(in.GetLines(), "\n")), []byte("\n"))
	switch Kind(in.GetKind()) {
	case Products:
		b := &products{ready: map[string]bool{}}
		for i, line := range lines {
			var of struct {
				ID           string
				ContentReady bool
			}
			if before, _, has := bytes.Cut(line, []byte(ContentReady)); has && json.Unmarshal(line, &of) == nil {
				lines[i], b.ready[of.ID] = append(bytes.Clone(before), '}'), of.ContentReady
			}
		}
		return loadLines(ctx, m, in, lines, &storefrontv1.Product{}, &b.batch, b)
	case Customers:
		b := &customers{}
		return loadLines(ctx, m, in, lines, &storefrontv1.Customer{}, &b.batch, b)
	case Links:
		b := &links{}
		return loadLines(ctx, m, in, lines, &storefrontv1.PaymentLink{}, &b.batch, b)
	case Orders:
		b := &orders{}
		return loadLines(ctx, m, in, lines, &storefrontv1.Order{}, &b.batch, b)
	case Events:
		b := &history[*adminv1.Event]{table: event.Table, columns: []string{"type", "payload", "created_at"}, values: eventValues}
		return loadLines(ctx, m, in, lines, &adminv1.Event{}, &b.batch, b)
	case Deliveries:
		b := &history[*adminv1.Delivery]{table: "finished_deliveries", columns: []string{"webhook_id", "event_id", "event_type",
			"status", "attempts", "created_at", "finished_at"}, values: deliveryValues}
		return loadLines(ctx, m, in, lines, &adminv1.Delivery{}, &b.batch, b)
	case Activity:
		b := &history[*adminv1.ActivityEntry]{table: activityentry.Table, columns: []string{"actor_type", "actor_id", "actor_name",
			"action", "resource_type", "resource_id", "changes", "created_at"}, values: activityValues}
		return loadLines(ctx, m, in, lines, &adminv1.ActivityEntry{}, &b.batch, b)
	}
	names := make([]string, len(ExportedKinds))
	for i, kind := range ExportedKinds {
		names[i] = string(kind)
	}
	return nil, apierr.Invalid("The kind is not imported.", apijson.Field{Name: "kind", Message: "must be one of " +
		strings.Join(names, ", ")})
}

// loadLines reads lines as messages and loads those.
func loadLines[M proto.Message, R any](ctx context.Context, m *Importer, in *adminv1.ImportRowsRequest, lines [][]byte, empty M,
	b *batch[R], of kind[M, R]) (*adminv1.ImportResponse, error) {
	b.exported = true
	var bad refusedRows
	messages := make([]M, len(lines))
	for i, line := range lines {
		messages[i] = empty.ProtoReflect().New().Interface().(M) //nolint:errcheck // It is one.
		invalid, is := errors.AsType[*apijson.Invalid](apijson.Unmarshal(line, messages[i]))
		switch {
		case is && len(invalid.Fields) == 0:
			bad.refuse(i, "", invalid.Message)
		case is:
			bad.refuse(i, invalid.Fields[0].Name, invalid.Fields[0].Message)
		}
	}
	if len(bad.refusals) > 0 {
		return &adminv1.ImportResponse{Refused: bad.refusals}, nil
	}
	return load(ctx, m, in.GetKind(), messages, &adminv1.ImportOptions{}, b, of)
}

// links is a batch of payment links of an export.
type links struct{ batch[ent.PaymentLink] }

func (b *links) read(p *problems, in *storefrontv1.PaymentLink) row[ent.PaymentLink] {
	p.storeCurrency(in.GetCurrency())
	p.given("pricing", in.GetPricing())
	text := func(field string, value *string) *string {
		return p.OptionalText(field, value, validate.MaxDescriptionRunes)
	}
	amount := func(field string, value *int64) *int64 {
		if value != nil && p.kept(field, *value) == 0 {
			p.Invalid(field, "must be a whole number from 1")
		}
		return value
	}
	l := ent.PaymentLink{
		ID: p.id("id", in.GetId()), Code: p.filled("code", in.GetCode(), maxReferenceRunes), URL: in.GetUrl(),
		Title: p.Title("title", in.GetTitle()), Description: text("description", in.Description), CoverURL: p.URL("coverUrl",
			in.CoverUrl),
		Pricing: paymentlink.Pricing(in.GetPricing().String()), Amount: amount("amount", in.Amount),
		MinAmount: amount("minAmount", in.MinAmount), ThankYouMessage: text("thankYouMessage", in.ThankYouMessage),
		ExpiresAt: p.Time("expiresAt", in.GetExpiresAt()), MaxPayments: in.MaxPayments,
		DisabledAt: p.Time("disabledAt", in.GetDisabledAt()), PaidCount: in.GetPaidCount(), PaidAmount: p.kept("paidAmount",
			in.GetPaidAmount()),
		LastPaidAt: p.Time("lastPaidAt", in.GetLastPaidAt()), CreatedAt: p.pastMoment("createdAt", in.GetCreatedAt()),
		UpdatedAt: p.pastMoment("updatedAt", in.GetUpdatedAt()),
	}
	p.URL("url", &l.URL)
	p.kept("paidCount", int64(in.GetPaidCount()))
	if in.MaxPayments != nil && in.GetMaxPayments() < 1 {
		p.Invalid("maxPayments", "must be a whole number from 1")
	}
	return row[ent.PaymentLink]{id: l.ID, names: []identity{{"code", l.Code}}, data: l}
}

func (b *links) plan(ctx context.Context, tx *ent.Tx) (int, error) {
	_, err := b.sort(ctx, tx, paymentlink.Table, paymentlink.FieldCode)
	b.claim("is another payment link's", false)
	return 0, err
}

func (b *links) store(ctx context.Context, tx *ent.Tx) error {
	now := hook.Time(ctx)
	creates := make([]*ent.PaymentLinkCreate, len(b.fresh))
	for i, l := range b.fresh {
		r := l.data
		dated(&r.CreatedAt, now)
		dated(&r.UpdatedAt, r.CreatedAt)
		creates[i] = tx.PaymentLink.Create().SetID(r.ID).SetStoreID(b.t.ID).SetCode(r.Code).SetURL(r.URL).SetPaidCount(r.PaidCount).
			SetPaidAmount(r.PaidAmount).SetNillableLastPaidAt(r.LastPaidAt).SetCreatedAt(r.CreatedAt).SetUpdatedAt(r.UpdatedAt)
		if err := resource.PaymentLinkFields.Fill(creates[i].Mutation(), &r); err != nil {
			return err
		}
	}
	return tx.PaymentLink.CreateBulk(creates...).Exec(ctx)
}

// history is a batch of rows that tell what happened and are never changed. They are stored as they are: nothing
// follows from them.
type history[M any] struct {
	batch[[]any]
	table string
	// columns are those behind id and store_id; values are a row's, none for one that is left out.
	columns []string
	values  func(*problems, M) (id uuid.UUID, values []any)
}

func (b *history[M]) read(p *problems, in M) row[[]any] {
	id, values := b.values(p, in)
	for _, value := range values {
		if text, is := value.(string); is && !validate.Storable(text) {
			p.Invalid("", "must be UTF-8 text without NUL")
		}
	}
	return row[[]any]{id: id, data: values}
}

func (b *history[M]) plan(ctx context.Context, tx *ent.Tx) (int, error) {
	_, err := b.sort(ctx, tx, b.table)
	kept := b.fresh[:0]
	for _, l := range b.fresh {
		if l.data != nil {
			kept = append(kept, l)
		}
	}
	b.fresh = kept
	return 0, err
}

func (b *history[M]) store(ctx context.Context, tx *ent.Tx) error {
	insert := sql.Dialect(b.db.Dialect()).Insert(b.table).Columns(append([]string{"id", "store_id"}, b.columns...)...)
	for _, l := range b.fresh {
		insert.Values(append([]any{l.id, b.t.ID}, l.data...)...)
	}
	query, args := insert.Query()
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// moment is a date-time that must be there.
func (p *problems) moment(field string, at *timestamppb.Timestamp) time.Time {
	if at == nil {
		p.Invalid(field, "is required")
	}
	return p.pastMoment(field, at)
}

// object is the text of a JSON object, as bytes that are stored.
func (p *problems) object(field, text string) []byte {
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		p.Invalid(field, "must be the text of a JSON object")
	}
	return []byte(text)
}

func eventValues(p *problems, in *adminv1.Event) (uuid.UUID, []any) {
	return p.id("id", in.GetId()), []any{in.GetType(), p.object("payload", in.GetPayload()),
		p.moment("createdAt", in.GetCreatedAt())}
}

func deliveryValues(p *problems, in *adminv1.Delivery) (uuid.UUID, []any) {
	id := p.id("id", in.GetId())
	if in.GetFinishedAt() == nil {
		return id, nil
	}
	p.given("status", in.GetStatus())
	attempts := make([]queue.Attempt, len(in.GetAttempts()))
	for i, a := range in.GetAttempts() {
		attempts[i] = queue.Attempt{Number: int(a.GetNumber()), StartedAt: p.moment("attempts", a.GetStartedAt()),
			Duration: time.Duration(a.GetDurationMs()) * time.Millisecond, StatusCode: int(a.GetStatusCode()), Error: a.GetError(),
			Answer: a.GetAnswer()}
	}
	text, _ := json.Marshal(attempts) // numbers, texts and times
	return id, []any{p.id("webhookId", in.GetWebhookId()), p.id("eventId", in.GetEventId()), in.GetEventType(),
		in.GetStatus().String(),
		text, p.moment("createdAt", in.GetCreatedAt()), p.moment("finishedAt", in.GetFinishedAt())}
}

func activityValues(p *problems, in *adminv1.ActivityEntry) (uuid.UUID, []any) {
	p.given("actor.type", in.GetActor().GetType())
	return p.id("id", in.GetId()), []any{in.GetActor().GetType().String(), in.GetActor().GetId(), in.GetActor().GetName(),
		in.GetAction(),
		in.GetResource().GetType(), p.id("resource.id", in.GetResource().GetId()), p.object("changes", in.GetChanges()),
		p.moment("createdAt", in.GetCreatedAt())}
}

// RowsAPI is what an import of an export's rows calls.
type RowsAPI interface {
	ImportRows(context.Context, *adminv1.ImportRowsRequest) (*adminv1.ImportResponse, error)
}

// LoadRows imports the rows of a file of an export, in batches, and calls pass with each batch's number of rows and
// answer. The error of rows that are refused names the first.
func LoadRows(ctx context.Context, api RowsAPI, store string, kind Kind, path string,
	pass func(int, *adminv1.ImportResponse)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	in := &adminv1.ImportRowsRequest{Store: store, Kind: string(kind)}
	var lines []byte
	rows, before := 0, 0
	send := func() error {
		if rows == 0 {
			return nil
		}
		in.Lines = string(lines)
		out, err := api.ImportRows(ctx, in)
		if err != nil {
			return err
		}
		for _, bad := range out.GetRefused() {
			return fmt.Errorf("%s: %w", filepath.Base(path),
				&LineError{Line: before + int(bad.GetIndex()) + 1, Column: bad.GetField(), Problem: bad.GetMessage()})
		}
		pass(rows, out)
		before, rows, lines = before+rows, 0, lines[:0]
		return nil
	}
	for text := bufio.NewReaderSize(file, 64<<10); ; {
		line, err := text.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return send()
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if rows == BatchRows || len(lines)+len(line) > maxBatchBytes {
			if err := send(); err != nil {
				return err
			}
		}
		lines = append(lines, line...)
		rows++
	}
}
