package dashboard

import (
	"bytes"
	"encoding/json"
)

// indented changes only white space. It returns a text that is not JSON unchanged.
func indented(payload []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, payload, "", "  ") != nil {
		return string(payload)
	}
	return b.String()
}
