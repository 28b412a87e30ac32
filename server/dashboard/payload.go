package dashboard

import (
	"bytes"
	"encoding/json"
)

// indented is an envelope on several lines: every name and value as it was sent, only the white
// space is ours. What is no JSON is left as it is.
func indented(payload []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, payload, "", "  ") != nil {
		return string(payload)
	}
	return b.String()
}
