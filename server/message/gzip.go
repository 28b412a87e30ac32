package message

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"

	"go.storefront.example/server/apierr"
)

// unzippers are 40 KB each, and would otherwise be made for every compressed message.
var unzippers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unzip replaces a compressed message by what it holds, and gives up once that is too large.
func (b Bounds) unzip(message *bytes.Buffer) error {
	z := unzippers.Get().(*gzip.Reader)
	defer unzippers.Put(z)
	packed, release := Buffer()
	defer release()
	packed.Write(message.Bytes())
	if err := z.Reset(packed); err != nil {
		return malformedGzip()
	}
	defer func() { _ = z.Close() }() // a reader that has seen no header has nothing to close
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
