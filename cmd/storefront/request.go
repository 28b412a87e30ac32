package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/apierr"
)

// apiField is the tag of a flag that sets a field, with its JSON name. A refusal of the field is reported with the flag's name.
const apiField = "api"

// resolvable is a value that only the database or server can convert, such as an amount in the store's currency.
type resolvable interface {
	resolve(ctx context.Context, o admin.API, currency func() (string, error)) error
}

// fill sets fields of the requests, and update masks, from the flags that the user gave: each in the first request that has it.
// It calls currency only for an amount with a decimal point.
func (s *invocation) fill(ctx context.Context, o admin.API, currency func() (string, error), requests ...proto.Message) error {
	members := make([][]string, len(requests))
	for _, f := range s.flags {
		if !f.Tag.Has(apiField) || !s.given[f.Name] {
			continue
		}
		if value, ok := f.Target.Addr().Interface().(resolvable); ok {
			err := value.resolve(ctx, o, currency)
			if _, wrong := errors.AsType[usageError](err); wrong {
				return usage("--%s: %w", f.Name, err)
			}
			if err != nil {
				return err
			}
		}
		value, err := plainJSON(f.Target.Interface())
		if err != nil {
			return err
		}
		field := f.Tag.Get(apiField)
		of := max(slices.IndexFunc(requests, func(in proto.Message) bool {
			return in.ProtoReflect().Descriptor().Fields().ByJSONName(field) != nil
		}), 0) // the first request refuses a field that none has
		members[of] = append(members[of], string(quoted(field))+":"+string(value))
	}
	for i, in := range requests {
		changes := in.ProtoReflect().New().Interface()
		err := apijson.Unmarshal([]byte("{"+strings.Join(members[i], ",")+"}"), changes)
		if invalid, ok := errors.AsType[*apijson.Invalid](err); ok {
			return apierr.Invalid(invalid.Message, invalid.Fields...)
		}
		if err != nil {
			return err
		}
		proto.Merge(in, changes)
	}
	return nil
}

type method[In, Out any] = func(admin.API, context.Context, In) (Out, error)

// create prints the object that call creates in the command's store, as toJSON converts it.
func create[In, Out proto.Message](s *invocation, c inStore, in In, call method[In, Out], toJSON func(Out) []byte) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		ctx, err := s.fillIn(ctx, o, c, in)
		if err != nil {
			return err
		}
		out, err := call(o, ctx, in)
		if err != nil {
			return err
		}
		return s.print(toJSON(out))
	})
}

// fillIn fills the request from the flags, and returns the context of the command's store.
func (s *invocation) fillIn(ctx context.Context, o admin.API, c inStore, in proto.Message) (context.Context, error) {
	store, err := storeScoped(c).storeOf(ctx, o)
	if err != nil {
		return nil, err
	}
	if ctx, err = o.WithStore(ctx, store); err != nil {
		return nil, err
	}
	return ctx, s.fill(ctx, o, currencyOf(ctx, o), in)
}

// act calls do with the named object's id in its store's context, and prints the answer.
func act[Out proto.Message](s *invocation, c storeScoped, name string, resolve resolver,
	do func(ctx context.Context, o admin.API, id string) (Out, error), toJSON func(Out) []byte) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		ctx, id, err := c.resolve(ctx, o, name, resolve)
		if err != nil {
			return err
		}
		out, err := do(ctx, o, id)
		if err != nil {
			return err
		}
		return s.print(toJSON(out))
	})
}

// change is act with requests filled from the flags. It refuses a command without such a flag.
func change[Out proto.Message](s *invocation, c storeScoped, name string, resolve resolver,
	do func(ctx context.Context, o admin.API, id string) (Out, error), toJSON func(Out) []byte, requests ...proto.Message) error {
	if err := s.changesAnything(); err != nil {
		return err
	}
	return act(s, c, name, resolve, func(ctx context.Context, o admin.API, id string) (out Out, err error) {
		if err := s.fill(ctx, o, currencyOf(ctx, o), requests...); err != nil {
			return out, err
		}
		return do(ctx, o, id)
	}, toJSON)
}

func (s *invocation) changesAnything() error {
	var names []string
	for _, f := range s.flags {
		if f.Tag.Has(apiField) {
			names = append(names, "--"+f.Name)
			if s.given[f.Name] {
				return nil
			}
		}
	}
	return usage("name what to change: %s", strings.Join(names, ", "))
}

type listSize struct {
	Limit count `default:"50" placeholder:"N" help:"Maximum number to show, newest first."`
	Wide  bool  `help:"Show every column whole, however narrow the terminal is."`
}

// listOf is list for objects of the command's store.
func listOf[Item, In, Out proto.Message](s *invocation, c inStore, l listSize, t table[Item], in In, turn turnTo,
	call method[In, Out], items func(Out) []Item) error {
	return list(s, c.target, l, t, in, turn, func(ctx context.Context, o admin.API) (context.Context, error) {
		return s.fillIn(ctx, o, c, in)
	}, call, items)
}

// turnTo sets the page: its size, and the token with which the page before ended.
type turnTo func(size *int32, token string)

// list prints at most --limit objects. prepare fills the request and returns the calls' context.
func list[Item, In, Out proto.Message](s *invocation, c target, l listSize, t table[Item], in In, turn turnTo,
	prepare func(context.Context, admin.API) (context.Context, error), call method[In, Out], items func(Out) []Item) error {
	return s.operate(c, func(ctx context.Context, o admin.API) error {
		ctx, err := prepare(ctx, o)
		if err != nil {
			return err
		}
		limit := int(l.Limit)
		all, err := collect(ctx, o, limit+1, in, turn, call, items) // one more, to know whether there are more
		if err != nil {
			return err
		}
		if err := t.print(s, l, all[:min(limit, len(all))]); err != nil {
			return err
		}
		if len(all) > limit {
			s.printMessage("these are the newest " + grouped(limit) + "; --limit shows more")
		}
		return nil
	})
}

// collect lists objects page by page, until it has limit objects or all. 0 means all.
func collect[Item any, In, Out proto.Message](ctx context.Context, o admin.API, limit int, in In, turn turnTo,
	call method[In, Out], items func(Out) []Item) ([]Item, error) {
	return admin.Collect(ctx, limit, func(ctx context.Context, size *int32, token string) ([]Item, string, error) {
		turn(size, token)
		out, err := call(o, ctx, in)
		if err != nil {
			return nil, "", err
		}
		return items(out), any(out).(interface{ GetNextPageToken() string }).GetNextPageToken(), nil
	})
}

type paged struct {
	storeScoped
	listSize
	Page     *count `placeholder:"N" help:"Show only this page, counted from 1, instead of the first --limit entries."`
	PageSize *count `placeholder:"N" help:"Entries on that page, 1 to 100 (default: 25)."`
}

const (
	defaultPageSize = 25
	maxPageSize     = 100
)

type withID interface {
	proto.Message
	GetId() string
}

// listPages prints one page if --page or --page-size is set, otherwise the first objects up to --limit.
func listPages[Item withID, In proto.Message, Out interface {
	GetData() []Item
	GetTotal() int64
}](s *invocation, c paged, t table[Item], in In, turn func(page *int64, size *int32), call method[In, Out]) error {
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		ctx, err := s.fillIn(ctx, o, inStore(c.storeScoped), in)
		if err != nil {
			return err
		}
		page, size, limit, flag := int64(1), min(int(c.Limit), maxPageSize), int(c.Limit), "--limit"
		onePage := c.Page != nil || c.PageSize != nil
		if onePage {
			page, size, flag = int64(valueOr(c.Page, 1)), int(valueOr(c.PageSize, defaultPageSize)), "--page"
			limit = size
		}
		// An object created between two requests moves older ones into the next page. Print them once.
		var all []Item
		var total int64
		for seen := map[string]bool{}; ; page++ {
			turn(&page, new(int32(size))) //nolint:gosec // The API refuses a page that is too large.
			out, err := call(o, ctx, in)
			if err != nil {
				return err
			}
			total = out.GetTotal()
			for _, item := range out.GetData() {
				if !seen[item.GetId()] && len(all) < limit {
					seen[item.GetId()] = true
					all = append(all, item)
				}
			}
			if onePage || len(all) == limit || page*int64(size) >= total {
				break
			}
		}
		if err := t.print(s, c.listSize, all); err != nil {
			return err
		}
		if int64(len(all)) < total && !(s.json && onePage) {
			s.printMessage(fmt.Sprintf("these are %s of %s; %s shows others", grouped(len(all)), grouped(total), flag))
		}
		return nil
	})
}

func valueOr(c *count, otherwise count) count {
	if c == nil {
		return otherwise
	}
	return *c
}

type table[Item proto.Message] struct {
	columns []column[Item]
	object  func(Item) []byte
}

// column has exactly one of value, id and at, which returns a cell's content.
type column[Item any] struct {
	name  string
	value func(Item) string
	id    func(Item) string                 // a UUID, whose end is shown on a narrow terminal
	at    func(Item) *timestamppb.Timestamp // shown without seconds on a narrow terminal
	// cut is true if fit may cut the texts, to room characters at least; 0 means minCut.
	cut  bool
	room int
	// optional is true if fit may leave the column out.
	optional bool
}

func (c column[Item]) render(items []Item) *shownColumn {
	rendered := &shownColumn{name: c.name, isID: c.id != nil, isTime: c.at != nil, cut: c.cut, optional: c.optional,
		room: cmp.Or(c.room, minCut)}
	for _, item := range items {
		var cell string
		switch {
		case c.id != nil:
			cell = c.id(item)
		case c.at != nil:
			cell = formatTime(c.at(item))
		default:
			cell = cmp.Or(c.value(item), absent)
		}
		rendered.cells = append(rendered.cells, visible(cell))
	}
	rendered.measure()
	return rendered
}

func (t table[Item]) render(items []Item) []*shownColumn {
	all := make([]*shownColumn, len(t.columns))
	for i, c := range t.columns {
		all[i] = c.render(items)
	}
	return all
}

func (t table[Item]) print(s *invocation, l listSize, items []Item) error {
	if s.json || s.csv {
		objects := make([][]byte, len(items))
		for i, item := range items {
			objects[i] = t.object(item)
		}
		var none Item
		sample := withMessages(none.ProtoReflect().New()).Interface().(Item) //nolint:errcheck // It is one.
		return s.printObjects(t.object(sample), objects)
	}
	if l.Wide {
		s.terminal.columns = 0
	}
	return s.writeTable(fit(t.render(items), s.terminal.columns))
}

func messageJSON[M proto.Message](m M) []byte { return apijson.Marshal(m) }

// selectFields returns a message's named members in this order. Those in extra replace them.
func selectFields(m proto.Message, extra map[string]json.RawMessage, names ...string) []byte {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(apijson.Marshal(m), &values); err != nil {
		panic(err) // cannot happen, because the JSON of a message is an object
	}
	var members []string
	for _, name := range names {
		value, ok := extra[name]
		if !ok {
			value = values[name]
		}
		members = append(members, string(quoted(name))+":"+string(value))
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

func quoted(text string) json.RawMessage { return apijson.AppendString(nil, text) }

func orNull(text string) json.RawMessage { return json.RawMessage(cmp.Or(text, "null")) }
