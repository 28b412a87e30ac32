package dashboard

import (
	"bytes"
	"encoding/json"
)

// indented adds line breaks and indentation to an envelope, and changes nothing else. It returns a text that is not JSON
// unchanged.
func indented(payload []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, payload, "", "  ") != nil {
		return string(payload)
	}
	return b.String()
}
