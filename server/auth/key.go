package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// Prefix is what every key starts with: fixed, so that secret scanners recognise a key
// (specification, Authentication).
const Prefix = "svc_live_"

// The text of a key is Prefix, then randomDigits base-62 digits of randomness (214 bits), then
// checksumDigits base-62 digits of the CRC-32 of all that stands before them.
const (
	digits         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomDigits   = 36
	checksumDigits = 6 // 62^6 > 2^32: every CRC-32 has exactly one spelling
	keyLength      = len(Prefix) + randomDigits + checksumDigits
	hintDigits     = 4
)

// NewKey makes the text of a new key from the system's randomness. It is to be shown once and
// never kept: keep its Fingerprint and Hint.
func NewKey() string {
	key := make([]byte, 0, keyLength)
	key = append(key, Prefix...)
	// 248 is the largest multiple of 62 in a byte: bytes from there on are thrown away, or the
	// first eight digits would come up more often than the others. 48 bytes do in most cases.
	const fair = 256 / len(digits) * len(digits)
	var random [48]byte
	for len(key) < len(Prefix)+randomDigits {
		_, _ = rand.Read(random[:]) // never fails: it ends the process instead
		for _, b := range random {
			if int(b) < fair && len(key) < len(Prefix)+randomDigits {
				key = append(key, digits[int(b)%len(digits)])
			}
		}
	}
	return string(appendChecksum(key, string(key)))
}

// Fingerprint is what is kept of a key and what it is looked up by: SHA-256 of the whole text. A
// slow hash would add nothing, as nobody can guess 214 bits.
func Fingerprint(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// Hint is what may be shown of a key after its creation: the prefix and the last four characters,
// such as "svc_live_...x7Qd". Those four belong to the checksum, not to the randomness. The hint
// of a text that is no well-formed key shows nothing of it.
func Hint(key string) string {
	if !WellFormed(key) {
		return Prefix + "..."
	}
	return Prefix + "..." + key[len(key)-hintDigits:]
}

// WellFormed tells whether a text can be a key: its prefix, length, digits and checksum are right.
// CRC-32 finds every change of a single character, so a mistyped key is refused without looking it
// up.
func WellFormed(key string) bool {
	if len(key) != keyLength || !strings.HasPrefix(key, Prefix) {
		return false
	}
	body := key[:keyLength-checksumDigits]
	for i := len(Prefix); i < len(body); i++ {
		if !isDigit(body[i]) {
			return false
		}
	}
	var checksum [checksumDigits]byte
	return string(appendChecksum(checksum[:0], body)) == key[len(body):]
}

// isDigit tells whether c is one of digits.
func isDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// appendChecksum appends the CRC-32 (IEEE) of text in base 62: the most significant digit first,
// padded with 0 to checksumDigits.
func appendChecksum(b []byte, text string) []byte {
	sum := crc32.ChecksumIEEE([]byte(text))
	var spelled [checksumDigits]byte
	for i := checksumDigits - 1; i >= 0; i-- {
		spelled[i] = digits[sum%uint32(len(digits))]
		sum /= uint32(len(digits))
	}
	return append(b, spelled[:]...)
}
