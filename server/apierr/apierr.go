// Package apierr defines the service's errors: the specification's codes, with the HTTP status and the Connect code of each.
// server/shop returns refusals and server/edge writes them; neither depends on the other.
package apierr

import (
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"

	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Code is a stable machine-readable error code.
type Code string

// The codes of the specification's part Errors, and some for what it leaves open: an unknown path, a wrong method, an unusable
// body, and errors of the service itself.
const (
	ValidationFailed           Code = "validation_failed"
	CompareAtInvalid           Code = "compare_at_invalid"
	PhoneInvalid               Code = "phone_invalid"
	CustomerIdentifierRequired Code = "customer_identifier_required"
	PaymentLinkExpiryInvalid   Code = "payment_link_expiry_invalid"
	APIKeyMissing              Code = "api_key_missing"
	APIKeyInvalid              Code = "api_key_invalid"
	APIKeyRevoked              Code = "api_key_revoked"
	APIKeyExpired              Code = "api_key_expired"
	InsufficientScope          Code = "insufficient_scope"
	StoreUnavailable           Code = "store_unavailable"
	ProductNotFound            Code = "product_not_found"
	OrderNotFound              Code = "order_not_found"
	CustomerNotFound           Code = "customer_not_found"
	PaymentLinkNotFound        Code = "payment_link_not_found"
	NotFound                   Code = "not_found"
	MethodNotAllowed           Code = "method_not_allowed"
	CustomerConflict           Code = "customer_conflict"
	PayloadTooLarge            Code = "payload_too_large"
	UnsupportedMediaType       Code = "unsupported_media_type"
	ProductIncomplete          Code = "product_incomplete"
	ProductTypeUnavailable     Code = "product_type_unavailable"
	FeatureDisabled            Code = "feature_disabled"
	PaymentLinkInvalidPricing  Code = "payment_link_invalid_pricing"
	PaymentLinkExpiryPast      Code = "payment_link_expiry_past"
	RateLimited                Code = "rate_limited"
	InternalError              Code = "internal_error"
	Unavailable                Code = "unavailable"
)

// Codes for requests that the caller gave up. Only the typed protocols send them: under /v1 a caller who left reads no answer,
// and none can set a deadline.
const (
	// DeadlineExceeded means that the caller's own deadline passed.
	DeadlineExceeded Code = "deadline_exceeded"
	// Canceled means that the caller left before the answer.
	Canceled Code = "canceled"
)

// Only the admin services return these codes.
const (
	StoreNotFound          Code = "store_not_found"
	StoreBeingDeleted      Code = "store_being_deleted"
	APIKeyNotFound         Code = "api_key_not_found"
	SlugTaken              Code = "slug_taken"
	NameAmbiguous          Code = "name_ambiguous"
	APIKeyLimit            Code = "api_key_limit"
	OrderTransition        Code = "order_transition_invalid"
	TotalLimit             Code = "total_limit"
	PaymentLinkUnavailable Code = "payment_link_unavailable"
	PaymentLinkAmount      Code = "payment_link_amount_invalid"
	WebhookNotFound        Code = "webhook_not_found"
	WebhookLimit           Code = "webhook_limit"
	WebhookURLInvalid      Code = "webhook_url_invalid"
	WebhookDisabled        Code = "webhook_disabled"
	DeliveryNotFound       Code = "delivery_not_found"
	DeliveryPending        Code = "delivery_pending"
	EventExpired           Code = "event_expired"
	SecretKeyMissing       Code = "secret_key_missing"
	EventNotFound          Code = "event_not_found"
	ResendNotFound         Code = "resend_not_found"
	SessionNotFound        Code = "session_not_found"
	IdempotencyKeyReused   Code = "idempotency_key_reused"
	AdminTokenMissing      Code = "admin_token_missing"
	AdminTokenInvalid      Code = "admin_token_invalid"
	OriginRefused          Code = "origin_refused"
)

var statuses = map[Code]struct {
	status  int
	connect connect.Code
}{
	ValidationFailed:           {http.StatusBadRequest, connect.CodeInvalidArgument},
	CompareAtInvalid:           {http.StatusBadRequest, connect.CodeInvalidArgument},
	PhoneInvalid:               {http.StatusBadRequest, connect.CodeInvalidArgument},
	CustomerIdentifierRequired: {http.StatusBadRequest, connect.CodeInvalidArgument},
	PaymentLinkExpiryInvalid:   {http.StatusBadRequest, connect.CodeInvalidArgument},
	APIKeyMissing:              {http.StatusUnauthorized, connect.CodeUnauthenticated},
	APIKeyInvalid:              {http.StatusUnauthorized, connect.CodeUnauthenticated},
	APIKeyRevoked:              {http.StatusUnauthorized, connect.CodeUnauthenticated},
	APIKeyExpired:              {http.StatusUnauthorized, connect.CodeUnauthenticated},
	InsufficientScope:          {http.StatusForbidden, connect.CodePermissionDenied},
	StoreUnavailable:           {http.StatusForbidden, connect.CodePermissionDenied},
	ProductNotFound:            {http.StatusNotFound, connect.CodeNotFound},
	OrderNotFound:              {http.StatusNotFound, connect.CodeNotFound},
	CustomerNotFound:           {http.StatusNotFound, connect.CodeNotFound},
	PaymentLinkNotFound:        {http.StatusNotFound, connect.CodeNotFound},
	NotFound:                   {http.StatusNotFound, connect.CodeUnimplemented},
	MethodNotAllowed:           {http.StatusMethodNotAllowed, connect.CodeUnimplemented},
	CustomerConflict:           {http.StatusConflict, connect.CodeAlreadyExists},
	PayloadTooLarge:            {http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted},
	UnsupportedMediaType:       {http.StatusUnsupportedMediaType, connect.CodeInvalidArgument},
	ProductIncomplete:          {http.StatusUnprocessableEntity, connect.CodeFailedPrecondition},
	ProductTypeUnavailable:     {http.StatusUnprocessableEntity, connect.CodeFailedPrecondition},
	FeatureDisabled:            {http.StatusUnprocessableEntity, connect.CodeFailedPrecondition},
	PaymentLinkInvalidPricing:  {http.StatusUnprocessableEntity, connect.CodeFailedPrecondition},
	PaymentLinkExpiryPast:      {http.StatusUnprocessableEntity, connect.CodeFailedPrecondition},
	RateLimited:                {http.StatusTooManyRequests, connect.CodeResourceExhausted},
	InternalError:              {http.StatusInternalServerError, connect.CodeInternal},
	Unavailable:                {http.StatusServiceUnavailable, connect.CodeUnavailable},
	DeadlineExceeded:           {http.StatusGatewayTimeout, connect.CodeDeadlineExceeded},
	Canceled:                   {StatusClientClosedRequest, connect.CodeCanceled},
	StoreNotFound:              {http.StatusNotFound, connect.CodeNotFound},
	StoreBeingDeleted:          {http.StatusConflict, connect.CodeFailedPrecondition},
	APIKeyNotFound:             {http.StatusNotFound, connect.CodeNotFound},
	SlugTaken:                  {http.StatusConflict, connect.CodeAlreadyExists},
	NameAmbiguous:              {http.StatusConflict, connect.CodeFailedPrecondition},
	APIKeyLimit:                {http.StatusConflict, connect.CodeResourceExhausted},
	OrderTransition:            {http.StatusConflict, connect.CodeFailedPrecondition},
	TotalLimit:                 {http.StatusConflict, connect.CodeFailedPrecondition},
	PaymentLinkUnavailable:     {http.StatusConflict, connect.CodeFailedPrecondition},
	PaymentLinkAmount:          {http.StatusBadRequest, connect.CodeInvalidArgument},
	WebhookNotFound:            {http.StatusNotFound, connect.CodeNotFound},
	WebhookLimit:               {http.StatusConflict, connect.CodeResourceExhausted},
	WebhookURLInvalid:          {http.StatusBadRequest, connect.CodeInvalidArgument},
	WebhookDisabled:            {http.StatusConflict, connect.CodeFailedPrecondition},
	DeliveryNotFound:           {http.StatusNotFound, connect.CodeNotFound},
	DeliveryPending:            {http.StatusConflict, connect.CodeFailedPrecondition},
	EventExpired:               {http.StatusConflict, connect.CodeFailedPrecondition},
	SecretKeyMissing:           {http.StatusConflict, connect.CodeFailedPrecondition},
	EventNotFound:              {http.StatusNotFound, connect.CodeNotFound},
	ResendNotFound:             {http.StatusNotFound, connect.CodeNotFound},
	SessionNotFound:            {http.StatusNotFound, connect.CodeNotFound},
	IdempotencyKeyReused:       {http.StatusConflict, connect.CodeAlreadyExists},
	AdminTokenMissing:          {http.StatusUnauthorized, connect.CodeUnauthenticated},
	AdminTokenInvalid:          {http.StatusUnauthorized, connect.CodeUnauthenticated},
	OriginRefused:              {http.StatusForbidden, connect.CodePermissionDenied},
}

// Refusal is a request's error. Message is for the client, Cause only for the log.
type Refusal struct {
	Code    Code
	Message string
	// Details is nil for most codes.
	Details *storefrontv1.ErrorDetails
	// Cause is the error that made the service fail; nil if the request is at fault.
	Cause error
	// Protocol replaces the Connect code that belongs to Code, if a protocol requires another; otherwise 0.
	Protocol connect.Code
}

// New returns a refusal without details.
func New(code Code, message string) *Refusal {
	return &Refusal{Code: code, Message: message}
}

// Invalid returns validation_failed with the refused fields. Without fields, the message alone says what is wrong.
func Invalid(message string, fields ...apijson.Field) *Refusal {
	details := &storefrontv1.ErrorDetails{}
	for _, f := range fields {
		details.Fields = append(details.Fields, &storefrontv1.FieldError{Field: f.Name, Message: f.Message})
	}
	return &Refusal{Code: ValidationFailed, Message: message, Details: details}
}

// Is reports whether err is a refusal with this code.
func Is(err error, code Code) bool {
	refusal, ok := errors.AsType[*Refusal](err)
	return ok && refusal.Code == code
}

func (r *Refusal) Error() string {
	if r.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", r.Code, r.Message, r.Cause)
	}
	return fmt.Sprintf("%s: %s", r.Code, r.Message)
}

func (r *Refusal) Unwrap() error { return r.Cause }

// Status returns the code's HTTP status.
func (r *Refusal) Status() int { return statuses[r.Code].status }

// ConnectCode returns the code of the refusal on Connect and gRPC.
func (r *Refusal) ConnectCode() connect.Code {
	if r.Protocol != 0 {
		return r.Protocol
	}
	return statuses[r.Code].connect
}
