package tenant

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// Base62 has the digits of API keys and buckets, in ASCII order.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Bucket returns the two base-62 digits that follow the prefix in each API key of a store, by which a proxy finds the
// installation without a look-up. They are the first four bytes of the SHA-256 of the store's id, which stays when the store
// moves, modulo 3,844.
func Bucket(store uuid.UUID) string {
	sum := sha256.Sum256(store[:])
	n := binary.BigEndian.Uint32(sum[:]) % uint32(len(Base62)*len(Base62))
	return string([]byte{Base62[n/uint32(len(Base62))], Base62[n%uint32(len(Base62))]})
}

// IsBucket reports whether a text has the form of a bucket.
func IsBucket(text string) bool { return len(text) == 2 && strings.Trim(text, Base62) == "" }

// Buckets are those of one installation: single ones, and ranges in ASCII order, such as 00-Kz,Lq. The zero value means all.
type Buckets string

var bucketsForm = regexp.MustCompile(`^[0-9A-Za-z]{2}(-[0-9A-Za-z]{2})?(,[0-9A-Za-z]{2}(-[0-9A-Za-z]{2})?)*$`)

// UnmarshalText reads text such as 00-Kz,Lq; an empty text means all.
func (b *Buckets) UnmarshalText(text []byte) error {
	all := strings.ReplaceAll(string(text), " ", "")
	if all != "" && !bucketsForm.MatchString(all) {
		return fmt.Errorf("must be buckets of two letters or digits, or ranges of them, such as 00-Kz,Lq, not %q", text)
	}
	for part := range strings.SplitSeq(all, ",") {
		if first, last, ranged := strings.Cut(part, "-"); ranged && last < first {
			return fmt.Errorf("has the range %s, which is empty: digits come before capitals, and capitals before small letters", part)
		}
	}
	*b = Buckets(all)
	return nil
}

// Has reports whether bucket is one of the buckets b.
func (b Buckets) Has(bucket string) bool {
	for part := range strings.SplitSeq(string(b), ",") {
		if first, last, _ := strings.Cut(part, "-"); first <= bucket && bucket <= cmp.Or(last, first) {
			return true
		}
	}
	return b == ""
}
