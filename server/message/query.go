package message

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"go.storefront.example/server/apierr"
)

// query holds the query of a Connect GET (https://connectrpc.com/docs/protocol, Unary-Get-Request).
// The first of repeated parameters counts; unknown ones are ignored.
type query struct {
	encoding, message, base64, compression, version string
	hasMessage                                      bool
}

// parseQuery parses a query without making a map of it. It reports whether the parameters used are
// well-formed.
func parseQuery(raw string) (q query, ok bool) {
	seen := map[string]bool{}
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		var field *string
		switch name {
		case "encoding":
			field = &q.encoding
		case "message":
			field, q.hasMessage = &q.message, true
		case "base64":
			field = &q.base64
		case "compression":
			field = &q.compression
		case "connect":
			field = &q.version
		}
		if field == nil || seen[name] {
			continue
		}
		seen[name] = true
		var err error
		if *field, err = url.QueryUnescape(value); err != nil {
			return q, false
		}
	}
	return q, true
}

// readQuery reads the message of a GET and converts the request to the equivalent POST.
func (b Bounds) readQuery(r *http.Request, raw string, into *bytes.Buffer) error {
	q, ok := parseQuery(raw)
	switch {
	case !ok:
		return apierr.Invalid("The query is not well-formed.")
	case !q.hasMessage:
		return apierr.Invalid("A call by GET has its message in the query.")
	case q.version != "" && q.version != "v1":
		return apierr.Invalid("The version of the Connect protocol must be v1.")
	}
	r.Header["Content-Type"] = []string{"application/" + q.encoding}
	if q.base64 == "1" {
		// In the URL-safe alphabet, with or without padding.
		content, err := base64.RawURLEncoding.AppendDecode(into.AvailableBuffer(), []byte(strings.TrimRight(q.message, "=")))
		if err != nil {
			return apierr.Invalid("The message in the query is not base64 for URLs.")
		}
		into.Write(content)
	} else {
		into.WriteString(q.message)
	}
	switch {
	case into.Len() > b.Bytes:
		return TooLarge(b.Bytes)
	case q.compression == compressionGzip && into.Len() > 0:
		return b.unzip(into)
	}
	return nil
}
