package message

import (
	"errors"

	"connectrpc.com/connect"

	"go.storefront.example/server/refusal"
)

// Foreign returns the refusal that an error of a library's handler, or of Connect itself, stands
// for: its own text may hold what the caller sent. Every other error it returns as it is.
func (b Bounds) Foreign(err error) error {
	var c *connect.Error
	var own *refusal.Refusal
	if errors.As(err, &own) || !errors.As(err, &c) {
		return err
	}
	switch c.Code() {
	case connect.CodeInvalidArgument:
		return refusal.Invalid("The message is not a valid one of this method.")
	case connect.CodeResourceExhausted:
		return TooLarge(b.Bytes)
	case connect.CodeNotFound:
		return &refusal.Refusal{Code: refusal.NotFound, Message: "There is nothing of this name.", Protocol: c.Code()}
	case connect.CodeUnimplemented:
		return refusal.New(refusal.NotFound, "This method is not served.")
	case connect.CodeCanceled:
		return refusal.New(refusal.Canceled, "The caller left before the request was answered.")
	default:
		return err
	}
}
