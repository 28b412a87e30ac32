package shop

import (
	"cmp"
	"math"

	"google.golang.org/protobuf/proto"

	"go.storefront.example/ent/resource"
)

// DefaultPageSize is how many entries a page has if the request names no size.
const DefaultPageSize = 25

// list is what a list request asks for: a page, and the entries that its filter selects.
type list[Filter any] struct {
	number int64 // the page's number
	page   resource.Page
	filter Filter
}

// listRequest has the methods of every request for a list.
type listRequest interface {
	proto.Message
	GetPage() int64
	GetPageSize() int32
}

// page checks the bounds of a list request, and returns the number, size and offset of the page that it names: by default the
// first page, of DefaultPageSize.
func (p *problems) page(in listRequest) (number int64, page resource.Page) {
	p.Declared(in, nil)
	number, page.Size = cmp.Or(in.GetPage(), 1), cmp.Or(int(in.GetPageSize()), DefaultPageSize)
	if number-1 > math.MaxInt64/int64(page.Size) {
		page.Offset = math.MaxInt64
	} else {
		page.Offset = (number - 1) * int64(page.Size)
	}
	return number, page
}
