package apierr

// Meanings explains each code of the public API in the words of the specification's part Errors. Backquotes mark code. The
// OpenAPI document has exactly these.
var Meanings = map[Code]string{
	ValidationFailed:           "A parameter or a field of the body is invalid; `details.fields` lists every one.",
	CompareAtInvalid:           "`compareAtAmount` would not be above `priceAmount`.",
	PhoneInvalid:               "The phone is neither a number in international form nor a valid one of the store's country.",
	CustomerIdentifierRequired: "The customer would have neither an e-mail nor a phone.",
	PaymentLinkExpiryInvalid:   "`expiresAt` is no RFC 3339 date-time.",
	APIKeyMissing:              "There is no `Authorization` header, or it is not of the form `Bearer <key>`.",
	APIKeyInvalid:              "The key does not exist.",
	APIKeyRevoked:              "The key was revoked.",
	APIKeyExpired:              "The key is past its expiry date.",
	InsufficientScope:          "The key lacks the scope that `details.required` names.",
	StoreUnavailable:           "The store is suspended or closed; its keys are refused while it stays so.",
	ProductNotFound:            "The store has no product with this id.",
	OrderNotFound:              "The store has no order with this id.",
	CustomerNotFound:           "The store has no customer with this id.",
	PaymentLinkNotFound:        "The store has no payment link with this id.",
	NotFound:                   "There is nothing at this address.",
	MethodNotAllowed:           "The address does not answer this method; the header `Allow` names those that it answers.",
	CustomerConflict:           "Another customer of the store already has that e-mail or phone.",
	PayloadTooLarge:            "The body is larger than 1 MiB.",
	UnsupportedMediaType:       "The body is not sent as `application/json` in UTF-8.",
	ProductIncomplete:          "The product cannot be published; `details.missing` lists what it lacks.",
	ProductTypeUnavailable:     "Products of this type cannot be published in this store just now.",
	FeatureDisabled:            "Payment links cannot be created just now.",
	PaymentLinkInvalidPricing:  "FIXED needs `amount` and no `minAmount`; OPEN needs `minAmount` and no `amount`.",
	PaymentLinkExpiryPast:      "`expiresAt` is not in the future.",
	RateLimited:                "Too many requests in this minute; wait as long as `Retry-After` says.",
	InternalError:              "The service failed; try again later, with a growing delay.",
	Unavailable:                "The service cannot answer just now; try again later, with a growing delay.",
}
