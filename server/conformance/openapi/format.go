package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
)

// formats are those that the validator does not know, and one that it takes too lightly: a client
// whose validator is strict must be able to read what the document calls a uri.
var formats = map[string]func(value any) error{
	// https://spec.openapis.org/registry/format/
	"int32": func(v any) error { return fits(v, 32) },
	"int64": func(v any) error { return fits(v, 64) },
	"uri":   isURI,
}

// fits tells whether a number is a whole one of so many bits, one of them its sign; the least of all
// counts as one too many. What is no number has no such format.
func fits(value any, bits int) error {
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

// isURI tells whether a text is a URI of RFC 3986: absolute, and of its characters alone (section 2).
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
