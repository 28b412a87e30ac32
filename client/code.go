package client

// Code is a stable machine-readable reason of an Error: branch on it, never on a message. A newer
// service may send codes that are not among the constants.
type Code string

// The service's codes (specification, Errors), with the status of each.
const (
	ValidationFailed           Code = "validation_failed"            // 400; Details.Fields lists the invalid fields
	CompareAtInvalid           Code = "compare_at_invalid"           // 400
	PhoneInvalid               Code = "phone_invalid"                // 400
	CustomerIdentifierRequired Code = "customer_identifier_required" // 400
	PaymentLinkExpiryInvalid   Code = "payment_link_expiry_invalid"  // 400
	APIKeyMissing              Code = "api_key_missing"              // 401
	APIKeyInvalid              Code = "api_key_invalid"              // 401
	APIKeyRevoked              Code = "api_key_revoked"              // 401
	APIKeyExpired              Code = "api_key_expired"              // 401
	InsufficientScope          Code = "insufficient_scope"           // 403; Details.Required names the scope
	StoreUnavailable           Code = "store_unavailable"            // 403
	ProductNotFound            Code = "product_not_found"            // 404
	OrderNotFound              Code = "order_not_found"              // 404
	CustomerNotFound           Code = "customer_not_found"           // 404
	PaymentLinkNotFound        Code = "payment_link_not_found"       // 404
	NotFound                   Code = "not_found"                    // 404, no such address
	MethodNotAllowed           Code = "method_not_allowed"           // 405
	CustomerConflict           Code = "customer_conflict"            // 409
	PayloadTooLarge            Code = "payload_too_large"            // 413
	UnsupportedMediaType       Code = "unsupported_media_type"       // 415
	ProductIncomplete          Code = "product_incomplete"           // 422; Details.Missing lists the missing fields
	ProductTypeUnavailable     Code = "product_type_unavailable"     // 422
	FeatureDisabled            Code = "feature_disabled"             // 422
	PaymentLinkInvalidPricing  Code = "payment_link_invalid_pricing" // 422
	PaymentLinkExpiryPast      Code = "payment_link_expiry_past"     // 422
	RateLimited                Code = "rate_limited"                 // 429; RetryAfter is how long to wait
	InternalError              Code = "internal_error"               // 500
	Unavailable                Code = "unavailable"                  // 503
)

// Codes of this package, for requests that the service did not answer.
const (
	// NetworkError: no answer came, or it broke off. Whether a write took effect is unknown.
	NetworkError Code = "network_error"
	// Timeout: the call's time, its context's deadline or the HTTP client's timeout passed;
	// errors.Is(err, context.DeadlineExceeded) holds. Whether a write took effect is unknown.
	Timeout Code = "timeout"
	// Canceled: the caller's context was canceled; errors.Is(err, context.Canceled) holds.
	Canceled Code = "canceled"
	// UnexpectedAnswer: the answer is not from the service but, for example, a proxy's page. Status is the status of that
	// answer.
	UnexpectedAnswer Code = "unexpected_answer"
	// InvalidRequest: the request was not sent, because it contains text that is not UTF-8.
	InvalidRequest Code = "invalid_request"
)
