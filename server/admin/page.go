package admin

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/server/validate"
)

// DefaultPageSize is that of a request that names no size.
const DefaultPageSize = 50

// MaxPageSize bounds a page.
var MaxPageSize = validate.MaxOf("storefront.admin.v1.ListStoresRequest.page_size")

// page is size items at most, newest first, after the item with this id and time, zero for the first page.
type page struct {
	size int
	at   time.Time
	id   uuid.UUID
}

type listRequest interface {
	proto.Message
	GetPageSize() int32
}

// page checks the bounds of a list request, and reads its page, which begins where the token says.
func (r *problems) page(in listRequest, token string) page {
	r.Declared(in, nil)
	p := page{size: cmp.Or(int(in.GetPageSize()), DefaultPageSize)}
	if token == "" {
		return p
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(text) != 8+len(uuid.Nil) {
		r.Invalid("pageToken", "must be the nextPageToken of an answer")
		return p
	}
	p.at = time.UnixMilli(int64(binary.BigEndian.Uint64(text))).UTC() //nolint:gosec // Every value of 64 bits is a time.
	p.id = uuid.UUID(text[8:])
	if timestamppb.New(p.at).CheckValid() != nil { // some databases cannot store a time out of this range
		r.Invalid("pageToken", "must be the nextPageToken of an answer")
	}
	return p
}

func (r *problems) timeOf(name string, at *timestamppb.Timestamp) time.Time {
	switch {
	case at == nil:
		return time.Time{}
	case at.CheckValid() != nil:
		r.Invalid(name, "must be an RFC 3339 date-time of the years 1 to 9999")
		return time.Time{}
	}
	return at.AsTime()
}

// older selects items after the previous page. The table must have the columns created_at and id.
func (p page) older(s *sql.Selector) {
	if p.id != uuid.Nil {
		s.Where(sql.CompositeLT([]string{s.C("created_at"), s.C("id")}, p.at, p.id))
	}
}

func newest(s *sql.Selector) { s.OrderBy(sql.Desc(s.C("created_at")), sql.Desc(s.C("id"))) }

// rows selects the items of the page, newest first, and one more if there is a next page.
func (p page) rows(s *sql.Selector) {
	p.older(s)
	newest(s)
	s.Limit(p.size + 1)
}

type datedMessage interface {
	GetId() string
	GetCreatedAt() *timestamppb.Timestamp
}

// pageOf converts rows, which page.rows limited. next is the token of the next page, or "".
func pageOf[Row any, Message datedMessage](p page, rows []Row, message func(Row) Message) (messages []Message, next string) {
	messages = convertAll(rows, message)
	if len(rows) <= p.size {
		return messages, ""
	}
	last := messages[p.size-1]
	return messages[:p.size], tokenOf(last.GetCreatedAt().AsTime(), uuid.MustParse(last.GetId()))
}

func tokenOf(at time.Time, id uuid.UUID) string {
	token := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli())) //nolint:gosec // It is converted back when read.
	return base64.RawURLEncoding.EncodeToString(append(token, id[:]...))
}

func convertAll[Row, Message any](rows []Row, message func(Row) Message) []Message {
	all := make([]Message, len(rows))
	for i, row := range rows {
		all[i] = message(row)
	}
	return all
}

// Collect reads pages until it has limit items or the list ends. 0 means no limit. page returns one page's items and its
// nextPageToken.
func Collect[Item any](ctx context.Context, limit int,
	page func(ctx context.Context, size *int32, token string) ([]Item, string, error)) ([]Item, error) {
	all, token := []Item{}, ""
	for {
		size := int32(MaxPageSize)
		if limit > 0 {
			size = int32(min(limit-len(all), MaxPageSize)) //nolint:gosec // At most MaxPageSize.
		}
		items, next, err := page(ctx, &size, token)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if token = next; token == "" || limit > 0 && len(all) >= limit {
			return all, nil
		}
	}
}
