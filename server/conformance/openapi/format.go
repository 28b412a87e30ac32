package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
)

// formats add int32 and int64, and replace uri, which accepts texts that strict clients could not read.
var formats = map[string]func(value any) error{
	// These are from https://spec.openapis.org/registry/format/
	"int32": func(v any) error { return checkInteger(v, 32) },
	"int64": func(v any) error { return checkInteger(v, 64) },
	"uri":   isURI,
}

// checkInteger refuses a number beyond a signed integer of bits, and its lowest. Other types pass.
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

// isURI refuses what is not absolute, or contains other characters than RFC 3986, section 2.
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
