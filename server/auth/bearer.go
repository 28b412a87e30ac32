package auth

import (
	"strings"

	"go.storefront.example/server/apierr"
)

// scheme is that of RFC 6750. Its case does not matter (RFC 9110, 11.1).
const scheme = "Bearer"

// bearer requires exactly one Authorization header with the scheme, one space or more, and a text, which need not have the form
// of a key. Otherwise it refuses with api_key_missing.
func bearer(authorization []string) (string, error) {
	missing := func(message string) error { return apierr.New(apierr.APIKeyMissing, message) }
	switch {
	case len(authorization) == 0:
		return "", missing("The request has no Authorization header. Send Authorization: Bearer <API_KEY>.")
	case len(authorization) > 1:
		// With two headers, a proxy and this service might disagree about who the caller is.
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
