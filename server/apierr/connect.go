package apierr

import (
	"errors"
	"time"

	"connectrpc.com/connect"

	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// Connect returns the refusal without its cause, with a storefront.v1.Error as its detail.
func (r *Refusal) Connect(requestID string, now time.Time) *connect.Error {
	err := connect.NewError(r.ConnectCode(), errors.New(r.Message))
	if detail, detailErr := connect.NewErrorDetail(r.Body(requestID, now)); detailErr == nil {
		err.AddDetail(detail)
	}
	return err
}

// Body returns the refusal without its cause.
func (r *Refusal) Body(requestID string, now time.Time) *storefrontv1.Error {
	return &storefrontv1.Error{
		StatusCode: int32(r.Status()), //nolint:gosec // A status has three digits.
		Code:       string(r.Code),
		Message:    r.Message,
		Details:    r.Details,
		RequestId:  requestID,
		Timestamp:  apijson.Timestamp(now),
	}
}

// FromConnect returns the refusal in an error of Connect with its request id, or nil if there is none.
func FromConnect(err error) (r *Refusal, requestID string) {
	var refused *connect.Error
	if !errors.As(err, &refused) {
		return nil, ""
	}
	for _, detail := range refused.Details() {
		value, err := detail.Value()
		if err != nil {
			continue
		}
		if e, ok := value.(*storefrontv1.Error); ok {
			return &Refusal{Code: Code(e.GetCode()), Message: e.GetMessage(), Details: e.GetDetails()}, e.GetRequestId()
		}
	}
	return nil, ""
}
