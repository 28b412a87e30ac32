package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/tenant"
)

// Prefix never changes, because secret scanners recognise keys by it (specification, Authentication).
const Prefix = "svc_live_"

// A key is Prefix, two base-62 digits for its store's bucket, 34 random ones (202 bits), and a checksum: the CRC-32 of all
// before it, in six. Older keys have random digits in place of the bucket, so it does not prove to which store a key belongs.
const (
	digits         = tenant.Base62
	bodyDigits     = 36
	checksumDigits = 6 // 62^6 > 2^32, so every CRC-32 has one form with six digits
	keyLength      = len(Prefix) + bodyDigits + checksumDigits
	hintDigits     = 4
)

// NewKey returns a new key. Show it to its owner once, and store only its Fingerprint and its Hint.
func NewKey(store uuid.UUID) string {
	key := make([]byte, 0, keyLength)
	key = append(key, Prefix+tenant.Bucket(store)...)
	// fair is 248, the largest multiple of 62 up to 256. Bytes from 248 on would make the first eight digits more frequent. 48
	// random bytes nearly always have enough others.
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

// Fingerprint is the SHA-256 by which keys are stored and looked up. A slow hash would add nothing, because nobody can guess
// 202 random bits.
func Fingerprint(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// Hint is what may be shown later: the prefix and the last four characters, such as "svc_live_...x7Qd", which are of the
// checksum. The hint of a malformed key shows none of its characters.
func Hint(key string) string {
	if !WellFormed(key) {
		return Prefix + "..."
	}
	return Prefix + "..." + key[len(key)-hintDigits:]
}

// IsHint reports whether a text has the form of a hint.
func IsHint(text string) bool {
	last, ok := strings.CutPrefix(text, Prefix+"...")
	return ok && (last == "" || len(last) == hintDigits && strings.Trim(last, digits) == "")
}

// WellFormed checks prefix, length, digits and checksum. A CRC-32 shows every change of a single character, so most mistyped
// keys are refused without a look-up.
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

// appendChecksum appends the CRC-32 (IEEE) in base 62, most significant digit first, with leading zeros up to checksumDigits.
func appendChecksum(b []byte, text string) []byte {
	sum := crc32.ChecksumIEEE([]byte(text))
	var checksum [checksumDigits]byte
	for i := checksumDigits - 1; i >= 0; i-- {
		checksum[i] = digits[sum%uint32(len(digits))]
		sum /= uint32(len(digits))
	}
	return append(b, checksum[:]...)
}
