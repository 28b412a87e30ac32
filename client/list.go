package client

import "iter"

type page[T any] interface {
	GetPage() int64
	GetPageSize() int32
	GetTotal() int64
	GetData() []*T
}

// all begins with the page first; 0 means 1. It requests a page only when the loop needs its first item, and each new loop
// requests the pages again.
func all[A page[T], T any](first int64, load func(page int64) (A, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		number := first
		if number == 0 {
			number = 1
		}
		for ; ; number++ {
			answer, err := load(number)
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
