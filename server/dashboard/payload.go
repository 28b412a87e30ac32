package dashboard

import (
	"bytes"
	"encoding/json"
)

// indented returns an envelope on several lines. Names and values stay as they were sent; only white space is added. Text that
// is not JSON stays unchanged.
func indented(payload []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, payload, "", "  ") != nil {
		return string(payload)
	}
	return b.String()
}
