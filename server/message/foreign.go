package message

import (
	"errors"

	"connectrpc.com/connect"

	"go.storefront.example/server/apierr"
)

// Foreign converts an error of a library's handler, or of Connect itself, to a refusal, because its
// text may contain the caller's input. It returns every other error unchanged.
func (b Bounds) Foreign(err error) error {
	var c *connect.Error
	var own *apierr.Refusal
	if errors.As(err, &own) || !errors.As(err, &c) {
		return err
	}
	switch c.Code() {
	case connect.CodeInvalidArgument:
		return apierr.Invalid("The message is not a valid one of this method.")
	case connect.CodeResourceExhausted:
		return TooLarge(b.Bytes)
	case connect.CodeNotFound:
		return &apierr.Refusal{Code: apierr.NotFound, Message: "There is nothing of this name.", Protocol: c.Code()}
	case connect.CodeUnimplemented:
		return apierr.New(apierr.NotFound, "This method is not served.")
	case connect.CodeCanceled:
		return apierr.New(apierr.Canceled, "The caller left before the request was answered.")
	default:
		return err
	}
}
