package auth

import (
	"strings"

	"go.storefront.example/server/apierr"
)

// scheme is the authentication scheme (RFC 6750). Its case does not matter (RFC 9110, 11.1).
const scheme = "Bearer"

// bearer returns the key in the Authorization header. It refuses with api_key_missing unless there is exactly one such
// header, and it has the scheme Bearer, one space or more, and a text. bearer does not check the form of the key, because a
// malformed key is treated like an unknown one.
func bearer(authorization []string) (string, error) {
	missing := func(message string) error { return apierr.New(apierr.APIKeyMissing, message) }
	switch {
	case len(authorization) == 0:
		return "", missing("The request has no Authorization header. Send Authorization: Bearer <API_KEY>.")
	case len(authorization) > 1:
		// With two headers, a proxy and this service might use different ones and disagree about who the caller is.
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
