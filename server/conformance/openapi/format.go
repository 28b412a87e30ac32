package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
)

// formats are the formats that the validator lacks, and uri, which it checks too loosely: a client with a strict validator must
// be able to read the document's uris.
var formats = map[string]func(value any) error{
	// https://spec.openapis.org/registry/format/
	"int32": func(v any) error { return fits(v, 32) },
	"int64": func(v any) error { return fits(v, 64) },
	"uri":   isURI,
}

// fits returns an error if a number is not an integer of so many bits, including the sign. It counts the lowest value as too
// small. Values of other types always fit.
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

// isURI returns an error if a text is not an absolute URI of RFC 3986 with only the characters of its section 2.
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
