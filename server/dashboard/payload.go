package dashboard

import (
	"bytes"
	"encoding/json"
)

// indented adds line breaks and indentation to an envelope. It changes nothing else in it. A text that is not JSON it
// returns unchanged.
func indented(payload []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, payload, "", "  ") != nil {
		return string(payload)
	}
	return b.String()
}
