package seal

import (
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// KeyBytes is the length of a key: AES-256.
const KeyBytes = 32

// idDigits is the length of a key's id in hex digits: 64 bits, enough that two keys of one operator never share an id.
const idDigits = 16

// errKey names the command that makes a key, and shows no part of the invalid text.
var errKey = errors.New("secret key must be 32 bytes in base64: `storefront secret generate` prints one")

// Key is an operator's secret key. The zero value is not usable; use ParseKey or LoadOrCreateFile. It prints only its id.
// Goroutines may share it.
type Key struct {
	id     string
	cipher func() cipher.AEAD // a func, so that no printer shows the key
}

// NewKey returns a new random key as text for ParseKey. It has only letters and digits, so that a double click selects it
// whole; that costs two of the key's 256 bits.
func NewKey() string {
	for {
		var secret [KeyBytes]byte
		_, _ = rand.Read(secret[:]) // rand.Read never fails; it crashes the process instead
		if text := base64.RawStdEncoding.EncodeToString(secret[:]); !strings.ContainsAny(text, "+/") {
			return text
		}
	}
}

// ParseKey reads a key: 32 bytes in standard base64 with or without padding (RFC 4648, section 4), white space
// around it ignored. Its error never shows the text.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), "=")
	if len(text) != base64.RawStdEncoding.EncodedLen(KeyBytes) {
		return Key{}, errKey
	}
	decoded, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil || len(decoded) != KeyBytes {
		return Key{}, errKey
	}
	secret := [KeyBytes]byte(decoded)
	aead := newAEAD(secret)
	return Key{id: fingerprint(secret), cipher: func() cipher.AEAD { return aead }}, nil
}

// fingerprint returns the id of a key: the start of a hash made only for this purpose, which reveals nothing about the key.
func fingerprint(secret [KeyBytes]byte) string {
	sum := sha256.Sum256(append([]byte("storefront secret key id\x00"), secret[:]...))
	return hex.EncodeToString(sum[:idDigits/2])
}

// ID returns a short fingerprint, which distinguishes keys and may be stored and shown.
func (k Key) ID() string { return k.id }

// String returns "secret key" and the id.
func (k Key) String() string { return "secret key " + k.id }

// Format writes String for every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

func (k Key) aead() cipher.AEAD { return k.cipher() }
