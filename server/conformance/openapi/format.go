package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
)

// formats are the checks of formats that the validator of JSON Schema gets. The validator itself has no check of int32 and
// int64. The validator's check of uri accepts texts that strict clients could not read, so isURI replaces it.
var formats = map[string]func(value any) error{
	// These are from https://spec.openapis.org/registry/format/
	"int32": func(v any) error { return checkInteger(v, 32) },
	"int64": func(v any) error { return checkInteger(v, 64) },
	"uri":   isURI,
}

// checkInteger returns an error if a number is not an integer, or is outside the range of a signed integer with this number
// of bits. It refuses the lowest number of the range too. It returns nil for values of other types.
func checkInteger(value any, bits int) error {
	n, ok := value.(json.Number)
	if !ok {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || !r.IsInt() || r.Num().BitLen() >= bits {
		return fmt.Errorf("%s does not fit %d bits", n, bits)
	}
	return nil
}

// isURI returns an error if a text is not an absolute URI, or contains other characters than section 2 of RFC 3986 allows.
func isURI(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%"
	if !u.IsAbs() || strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune(characters, r) }) {
		return errors.New("no absolute address of the characters of RFC 3986")
	}
	return nil
}
