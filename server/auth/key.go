package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
)

// Prefix starts every key. It is fixed so that secret scanners recognise a key (specification,
// Authentication).
const Prefix = "svc_live_"

// The text of a key is Prefix, the two base-62 digits of its store's bucket, 34 random digits (202 bits), and checksumDigits of
// the CRC-32 of all that. Keys made before stores had buckets have 36 digits of randomness, so nothing may decide from a key's
// text which store it belongs to.
const (
	digits         = tenant.Base62
	bodyDigits     = 36
	checksumDigits = 6 // 62^6 > 2^32: every CRC-32 has exactly one form
	keyLength      = len(Prefix) + bodyDigits + checksumDigits
	hintDigits     = 4
)

// NewKey returns a new random key of a store. Show it once and never store it: store its Fingerprint and Hint.
func NewKey(store uuid.UUID) string {
	key := make([]byte, 0, keyLength)
	key = append(key, Prefix+tenant.Bucket(store)...)
	// 248 is the largest multiple of 62 in a byte. Larger bytes are discarded, because otherwise the first eight digits would
	// be more frequent than the others. 48 bytes are enough in most cases.
	const fair = 256 / len(digits) * len(digits)
	var random [48]byte
	for len(key) < len(Prefix)+bodyDigits {
		_, _ = rand.Read(random[:]) // rand.Read never fails; it crashes the process instead
		for _, b := range random {
			if int(b) < fair && len(key) < len(Prefix)+bodyDigits {
				key = append(key, digits[int(b)%len(digits)])
			}
		}
	}
	return string(appendChecksum(key, string(key)))
}

// Fingerprint is the stored form of a key, by which it is looked up: SHA-256 of the whole text. A
// slow hash would add nothing, because 202 bits cannot be guessed.
func Fingerprint(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// Hint is the part of a key that may be shown after its creation: the prefix and the last four characters, such as
// "svc_live_...x7Qd". These four are part of the checksum, not of the randomness. The hint of a malformed key contains no part
// of it.
func Hint(key string) string {
	if !WellFormed(key) {
		return Prefix + "..."
	}
	return Prefix + "..." + key[len(key)-hintDigits:]
}

// IsHint reports whether Hint can return a text.
func IsHint(text string) bool {
	last, is := strings.CutPrefix(text, Prefix+"...")
	return is && (last == "" || len(last) == hintDigits && strings.Trim(last, digits) == "")
}

// WellFormed reports whether a text can be a key: its prefix, length, digits and checksum are
// right. CRC-32 detects every change of a single character, so a mistyped key is refused without a
// look-up.
func WellFormed(key string) bool {
	if len(key) != keyLength || !strings.HasPrefix(key, Prefix) {
		return false
	}
	body := key[:keyLength-checksumDigits]
	for i := len(Prefix); i < len(body); i++ {
		if strings.IndexByte(digits, body[i]) < 0 {
			return false
		}
	}
	var checksum [checksumDigits]byte
	return string(appendChecksum(checksum[:0], body)) == key[len(body):]
}

// appendChecksum appends the CRC-32 (IEEE) of text in base 62: the most significant digit first,
// padded with 0 to checksumDigits.
func appendChecksum(b []byte, text string) []byte {
	sum := crc32.ChecksumIEEE([]byte(text))
	var checksum [checksumDigits]byte
	for i := checksumDigits - 1; i >= 0; i-- {
		checksum[i] = digits[sum%uint32(len(digits))]
		sum /= uint32(len(digits))
	}
	return append(b, checksum[:]...)
}
