// Package compress holds what all answers share that may be gzip: whether the client accepts it
// (RFC 9110, section 12.5.3), and a compressor without allocations.
package compress

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Accepted reports whether the client accepts gzip. The weight of gzip counts before that of "*".
func Accepted(header http.Header) bool {
	accepted := false
	for _, line := range header["Accept-Encoding"] {
		for one := range strings.SplitSeq(line, ",") {
			coding, parameter, _ := strings.Cut(one, ";")
			switch coding = strings.TrimSpace(coding); {
			case strings.EqualFold(coding, "gzip") || strings.EqualFold(coding, "x-gzip"):
				return positive(parameter)
			case coding == "*":
				accepted = positive(parameter)
			}
		}
	}
	return accepted
}

// positive reports whether a coding with this parameter is acceptable: "q=0" means it is not, and so
// does what is not a weight.
func positive(parameter string) bool {
	parameter = strings.TrimSpace(parameter)
	if parameter == "" {
		return true
	}
	if len(parameter) < 2 || !strings.EqualFold(parameter[:2], "q=") {
		return false
	}
	weight, err := strconv.ParseFloat(parameter[2:], 64)
	return err == nil && weight > 0
}

// packer is a compressor with its output.
type packer struct {
	writer *gzip.Writer
	packed bytes.Buffer
}

// largestKept is the capacity in bytes up to which an output goes back to the pool.
const largestKept = 256 << 10

// packers are pooled: each has tables of several hundred kilobytes.
var packers = sync.Pool{New: func() any {
	p := &packer{}
	// The level is valid, so there is no error.
	p.writer, _ = gzip.NewWriterLevel(&p.packed, gzip.BestSpeed)
	return p
}}

// Gzip calls use with the compressed bytes, which are valid until use returns.
func Gzip(plain []byte, use func(packed []byte) error) error {
	p := packers.Get().(*packer)
	defer func() {
		if p.packed.Cap() <= largestKept {
			packers.Put(p)
		}
	}()
	p.packed.Reset()
	p.writer.Reset(&p.packed)
	// A buffer cannot fail.
	_, _ = p.writer.Write(plain)
	_ = p.writer.Close()
	return use(p.packed.Bytes())
}
