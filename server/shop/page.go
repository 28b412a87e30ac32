package shop

import (
	"fmt"
	"math"
	"unicode/utf8"

	"go.storefront.example/ent/invisible"
	"go.storefront.example/ent/resource"
	"go.storefront.example/server/validate"
)

// DefaultPageSize is how many entries a page has if the request names no size.
const DefaultPageSize = 25

// maxPageSize is the largest size of a page.
var maxPageSize = validate.MaxOf("storefront.v1.ListProductsRequest.page_size")

// maxQueryRunes is how many characters the text of a search may have.
var maxQueryRunes = validate.MaxOf("storefront.v1.ListProductsRequest.q")

// list is what a list request asks for: a page, and the entries that its filter selects.
type list[Filter any] struct {
	number int64 // the page's number
	page   resource.Page
	filter Filter
}

// page returns the number, size and offset of the page that a list request names. A number or size that the request leaves
// out is nil; page then returns the first page, or a page of DefaultPageSize.
func (p *problems) page(number *int64, size *int32) (pageNumber int64, page resource.Page) {
	pageNumber, page.Size = 1, DefaultPageSize
	if number != nil {
		pageNumber = *number
		if pageNumber < 1 {
			p.Invalid("page", "must be a whole number from 1")
		}
	}
	if size != nil {
		page.Size = int(*size)
		if page.Size < 1 || page.Size > maxPageSize {
			p.Invalid("pageSize", fmt.Sprintf("must be a whole number from 1 to %d", maxPageSize))
		}
	}
	if pageNumber-1 > int64(math.MaxInt64/maxPageSize) {
		page.Offset = math.MaxInt64
	} else {
		page.Offset = (pageNumber - 1) * int64(page.Size)
	}
	return pageNumber, page
}

// query returns the search text of a list request without the spaces around it; "" means no search. A text longer than
// maxQueryRunes, spaces included, is refused.
func (p *problems) query(q *string) string {
	if q == nil {
		return ""
	}
	if utf8.RuneCountInString(*q) > maxQueryRunes {
		p.Invalid("q", fmt.Sprintf("must be at most %d characters long", maxQueryRunes))
		return ""
	}
	return invisible.Trim(p.Text("q", *q, maxQueryRunes))
}
