package message

import (
	"mime"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	"go.storefront.example/server/apierr"
)

// Kind describes the messages of a call.
type Kind int

// The kinds of calls.
const (
	// Unary is one message and one response.
	Unary Kind = iota
	// ServerStream is one message and any number of responses.
	ServerStream
	// Bidi is any number of both; it needs HTTP/2.
	Bidi
)

const (
	compressionGzip     = "gzip"
	compressionIdentity = "identity"

	headerProtocolVersion = "Connect-Protocol-Version"
	headerAcceptEncoding  = "Grpc-Accept-Encoding"
)

// unaryTypes are the content types of a body with one message, and whether they take a charset.
var unaryTypes = map[string]bool{
	"application/json":           true,
	"application/proto":          false,
	"application/grpc":           false,
	"application/grpc+proto":     false,
	"application/grpc+json":      true,
	"application/grpc-web":       false,
	"application/grpc-web+proto": false,
	"application/grpc-web+json":  true,
}

// streamTypes are the same for a stream.
var streamTypes = map[string]bool{
	"application/connect+json":   false,
	"application/connect+proto":  false,
	"application/grpc":           false,
	"application/grpc+proto":     false,
	"application/grpc+json":      false,
	"application/grpc-web":       false,
	"application/grpc-web+proto": false,
	"application/grpc-web+json":  false,
}

// Check refuses a call to which Connect would answer in no protocol, or in its own words: a body of
// a type that no protocol has, a GET that is not a Connect call, an unsupported compression or
// version, a stream over HTTP/1. The request must be a POST, or a GET of a unary call.
func Check(w http.ResponseWriter, r *http.Request, kind Kind) error {
	if kind == Bidi && r.ProtoMajor < 2 {
		w.Header().Set("Connection", "close")
		return apierr.Invalid("This method is a stream and needs HTTP/2.")
	}
	if r.Method == http.MethodGet {
		return checkGet(r)
	}
	types := unaryTypes
	if kind != Unary {
		types = streamTypes
	}
	if err := checkType(r.Header, types); err != nil {
		return err
	}
	header := compressionHeader(r)
	name := r.Header.Get(header)
	switch {
	case len(r.Header[header]) <= 1 && (name == "" || name == compressionIdentity || name == compressionGzip):
	case header == "Content-Encoding":
		return unsupported("The message is compressed in another way than gzip.")
	default:
		// gRPC's clients read the supported compressions from this code and header.
		if isGRPC(r) {
			w.Header()[headerAcceptEncoding] = []string{compressionGzip}
		}
		return &apierr.Refusal{
			Code: apierr.UnsupportedMediaType, Protocol: connect.CodeUnimplemented, Message: "The message is compressed in another way than gzip.",
		}
	}
	if version := r.Header.Get(headerProtocolVersion); version != "" && version != "1" && !isGRPC(r) {
		return apierr.Invalid("The version of the Connect protocol must be 1.")
	}
	return nil
}

func checkGet(r *http.Request) error {
	q, _ := parseQuery(r.URL.RawQuery)
	switch {
	case q.encoding != "json" && q.encoding != "proto", r.ContentLength != 0:
		return unsupported("A call by GET has encoding=json or encoding=proto and message in its query, and no body.")
	case q.compression != "" && q.compression != compressionIdentity && q.compression != compressionGzip:
		return unsupported("The message is compressed in another way than gzip.")
	}
	return nil
}

// checkType refuses a content type that none of the types is, and removes from the header the
// parameters that mean nothing, which Connect would refuse.
func checkType(h http.Header, types map[string]bool) error {
	base, charset := MediaType(h["Content-Type"])
	text, known := types[base]
	switch {
	case !known:
		return unsupportedType()
	case charset != CharsetNone && (charset != CharsetUTF8 || !text):
		return unsupported("The body's Content-Type has a charset that is not supported.")
	case charset == CharsetUTF8:
		base += "; charset=utf-8"
	}
	if h["Content-Type"][0] != base {
		h["Content-Type"] = []string{base}
	}
	return nil
}

// Charset is the charset that a Content-Type header names.
type Charset int

// The charsets.
const (
	CharsetNone Charset = iota
	CharsetUTF8
	CharsetOther
)

// MediaType parses a Content-Type header. It returns the type without its parameters, in lower
// case, and its charset; other parameters mean nothing. The type is empty if the header cannot be
// read or does not occur exactly once.
func MediaType(sent []string) (base string, charset Charset) {
	if len(sent) != 1 {
		return "", CharsetNone
	}
	base, parameters, err := mime.ParseMediaType(sent[0])
	if err != nil {
		return "", CharsetNone
	}
	switch name, named := parameters["charset"]; {
	case !named:
		return base, CharsetNone
	case strings.EqualFold(name, "utf-8"):
		return base, CharsetUTF8
	}
	return base, CharsetOther
}

func unsupportedType() error {
	return unsupported("The body's Content-Type is of none of the protocols Connect, gRPC and gRPC-Web.")
}

func unsupported(message string) error { return apierr.New(apierr.UnsupportedMediaType, message) }

// isGRPC reports whether a call uses gRPC or gRPC-Web.
func isGRPC(r *http.Request) bool { return hasType(r, "application/grpc") }

// enveloped reports whether the messages have a length prefix.
func enveloped(r *http.Request) bool { return isGRPC(r) || hasType(r, "application/connect+") }

// hasType reports whether the Content-Type begins with a text, in any case.
func hasType(r *http.Request, prefix string) bool {
	sent := r.Header.Get("Content-Type")
	return len(sent) >= len(prefix) && strings.EqualFold(sent[:len(prefix)], prefix)
}

// compressionHeader returns the header in which a POST names the compression of its messages.
func compressionHeader(r *http.Request) string {
	switch {
	case isGRPC(r):
		return "Grpc-Encoding"
	case enveloped(r):
		return "Connect-Content-Encoding"
	default:
		return "Content-Encoding"
	}
}

// takeCompression reports whether messages may be compressed, and removes the header.
func takeCompression(r *http.Request) bool {
	name := compressionHeader(r)
	compressed := r.Header.Get(name) == compressionGzip
	delete(r.Header, name)
	return compressed
}
