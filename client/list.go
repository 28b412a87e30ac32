package client

import (
	"context"
	"iter"

	"google.golang.org/protobuf/proto"
)

// page is one page of a list.
type page[T any] interface {
	GetPage() int64
	GetPageSize() int32
	GetTotal() int64
	GetData() []*T
}

// all iterates over a list from the request's own page, one request a page, each made when its
// first item is needed. at returns the field that holds a request's page. The request is copied
// first, so the caller may reuse it, and each range starts anew.
func all[Q any, M interface {
	*Q
	proto.Message
}, A page[T], T any](ctx context.Context, request M, at func(M) **int64, load func(context.Context, M) (A, error)) iter.Seq2[*T, error] {
	asked := M(new(Q))
	if request != nil {
		asked = proto.CloneOf(request)
	}
	return func(yield func(*T, error) bool) {
		next := proto.CloneOf(asked)
		number := int64(1)
		if first := *at(next); first != nil {
			number = *first
		}
		for ; ; number++ {
			*at(next) = &number
			answer, err := load(ctx, next)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range answer.GetData() {
				if !yield(item, nil) {
					return
				}
			}
			if len(answer.GetData()) == 0 || number*int64(answer.GetPageSize()) >= answer.GetTotal() {
				return
			}
		}
	}
}
