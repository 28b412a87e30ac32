package rpc_test

import (
	"errors"

	"go.storefront.example/server/refusal"
)

// codeOf is the code of a refusal, and empty for no error.
func codeOf(err error) refusal.Code {
	var r *refusal.Refusal
	switch {
	case errors.As(err, &r):
		return r.Code
	case err != nil:
		return refusal.Code("no refusal: " + err.Error())
	}
	return ""
}
