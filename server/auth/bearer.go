package auth

import (
	"strings"

	"go.storefront.example/server/apierr"
)

// scheme is the authentication scheme of RFC 6750; schemes have no case (RFC 9110, 11.1).
const scheme = "Bearer"

// bearer returns the key in a request's Authorization header: exactly one value, the scheme in any
// case, one space or more, and some text. It does not check the form of that text, so that a
// malformed key counts as an unknown one. Anything else is api_key_missing.
func bearer(authorization []string) (string, error) {
	missing := func(message string) error { return apierr.New(apierr.APIKeyMissing, message) }
	switch {
	case len(authorization) == 0:
		return "", missing("The request has no Authorization header. Send Authorization: Bearer <API_KEY>.")
	case len(authorization) > 1:
		// Choosing one of several is unsafe, because a proxy and this service could disagree on the caller.
		return "", missing("The request has more than one Authorization header. Send exactly one.")
	}
	const form = "The Authorization header is not of the form Bearer <API_KEY>."
	name, rest, found := strings.Cut(authorization[0], " ")
	if !found || !strings.EqualFold(name, scheme) {
		return "", missing(form)
	}
	key := strings.Trim(rest, " ")
	if key == "" {
		return "", missing(form)
	}
	return key, nil
}
