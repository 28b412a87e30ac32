package message

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"

	"go.storefront.example/server/apierr"
)

// unzippers are pooled: each has 40 KB, and every compressed message needs one.
var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unzip replaces a compressed message with its content, and stops once that is too large.
func (b Bounds) unzip(message *bytes.Buffer) error {
	z := unzippers.Get().(*gzip.Reader)
	defer unzippers.Put(z)
	packed, release := Buffer()
	defer release()
	packed.Write(message.Bytes())
	if err := z.Reset(packed); err != nil {
		return malformedGzip()
	}
	defer func() { _ = z.Close() }() // without a header there is nothing to close
	message.Reset()
	n, err := message.ReadFrom(io.LimitReader(z, int64(b.Bytes)+1))
	switch {
	case n > int64(b.Bytes):
		return TooLarge(b.Bytes)
	case err != nil:
		return malformedGzip()
	}
	return nil
}

func malformedGzip() error { return apierr.Invalid("The message is not well-formed gzip.") }
