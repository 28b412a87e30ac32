package apierr

// Meaning explains a code to callers. Backquotes mark code.
type Meaning struct {
	// Text says what the code means, in the words of the specification's part Errors.
	Text string
	// Remedy says what a caller does about it.
	Remedy string
}

// Meanings has each code of the public API. The OpenAPI document has exactly these codes.
var Meanings = map[Code]Meaning{
	ValidationFailed:           {"A parameter or a field of the body is invalid; `details.fields` lists every one.", "Correct every field that `details.fields` lists."},
	CompareAtInvalid:           {"`compareAtAmount` would not be above `priceAmount`.", "Send a higher `compareAtAmount`, or null to remove it."},
	PhoneInvalid:               {"The phone is neither a number in international form nor a valid one of the store's country.", "Send the phone in international form, such as `+237670000001`."},
	CustomerIdentifierRequired: {"The customer would have neither an e-mail nor a phone.", "Send an e-mail or a phone, and clear only one of the two."},
	PaymentLinkExpiryInvalid:   {"`expiresAt` is no RFC 3339 date-time.", "Send a date-time with a time zone, such as `2026-12-31T22:59:59Z`."},
	APIKeyMissing:              {"There is no `Authorization` header, or it is not of the form `Bearer <key>`.", "Send `Authorization: Bearer` with the key."},
	APIKeyInvalid:              {"The key does not exist.", "Check that the whole key was copied, and that the URL is the one of your platform."},
	APIKeyRevoked:              {"The key was revoked.", "Create another key in the dashboard."},
	APIKeyExpired:              {"The key is past its expiry date.", "Create another key in the dashboard."},
	InsufficientScope:          {"The key lacks the scope that `details.required` names.", "Create a key with this scope, because the scopes of a key never change."},
	StoreUnavailable:           {"The store is suspended or closed; its keys are refused while it stays so.", "Ask your platform; try again when the store is active."},
	ProductNotFound:            {"The store has no product with this id.", "Check the id, and that the key belongs to the product's store."},
	OrderNotFound:              {"The store has no order with this id.", "Check the id, and that the key belongs to the order's store."},
	CustomerNotFound:           {"The store has no customer with this id.", "Check the id, and that the key belongs to the customer's store."},
	PaymentLinkNotFound:        {"The store has no payment link with this id.", "Check the id, and that the key belongs to the payment link's store."},
	NotFound:                   {"There is nothing at this address.", "Check the path, and that it begins with `/v1`."},
	MethodNotAllowed:           {"The address does not answer this method; the header `Allow` names those that it answers.", "Use a method that `Allow` names."},
	CustomerConflict:           {"Another customer of the store already has that e-mail or phone.", "Look for that customer with `q`, and change that one instead."},
	PayloadTooLarge:            {"The body is larger than 1 MiB.", "Send a smaller body."},
	UnsupportedMediaType:       {"The body is not sent as `application/json` in UTF-8.", "Send the header `Content-Type: application/json`."},
	ProductIncomplete:          {"The product cannot be published; `details.missing` lists what it lacks.", "Complete what is missing, then publish."},
	ProductTypeUnavailable:     {"Products of this type cannot be published in this store just now.", "Ask your platform, which has switched this type off."},
	FeatureDisabled:            {"Payment links cannot be created just now.", "Ask your platform, which has switched payment links off."},
	PaymentLinkInvalidPricing:  {"FIXED needs `amount` and no `minAmount`; OPEN needs `minAmount` and no `amount`.", "Send only the amount that the pricing needs."},
	PaymentLinkExpiryPast:      {"`expiresAt` is not in the future.", "Send a later time, or null for a link that does not expire."},
	RateLimited:                {"Too many requests in this minute; wait as long as `Retry-After` says.", "Send fewer requests: `X-RateLimit-Remaining` says how many are left."},
	InternalError:              {"The service failed; try again later, with a growing delay.", "Send the `requestId` to your platform if it lasts. A change may have happened."},
	Unavailable:                {"The service cannot answer just now; try again later, with a growing delay.", "Wait `Retry-After` seconds at first. A change may have happened."},
}
