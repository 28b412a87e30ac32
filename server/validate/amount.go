package validate

import "fmt"

// The bounds of amounts that the protos declare for requests. Imports and orders keep to them too.
var (
	PriceBound   = MustBound("storefront.v1.UpdateProductRequest.price_amount")
	PaymentBound = MustBound("storefront.admin.v1.CreateOrderRequest.amount")
)

// MaxAmount bounds every amount: 2^53-1, the largest integer that a JavaScript client reads
// exactly (ECMA-262, Number.MAX_SAFE_INTEGER).
const MaxAmount = 1<<53 - 1

// Amount refuses an amount of money out of bounds.
func (p *Problems) Amount(field string, value *int64, b Bound) {
	if value != nil && (*value < b.Min || *value > b.Max) {
		p.Invalid(field, fmt.Sprintf("must be a whole number of minor units from %d to %d", b.Min, b.Max))
	}
}
