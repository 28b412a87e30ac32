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

// idDigits are hex digits: 64 bits, so that in practice no two keys of an operator have the same id.
const idDigits = 16

// errKey is for a text that is not a key. It shows no part of it.
var errKey = errors.New("secret key must be 32 bytes in base64: `storefront secret generate` prints one")

// Key is an operator's secret key, from ParseKey or LoadOrCreateFile. It prints only its id. Goroutines may share it.
type Key struct {
	id     string
	cipher func() cipher.AEAD // a function, so that printing a Key never shows the key
}

// NewKey returns the text of a new key for ParseKey. It has only letters and digits, so that a double click selects it. This
// leaves about 254 of 256 bits random.
func NewKey() string {
	for {
		var secret [KeyBytes]byte
		_, _ = rand.Read(secret[:]) // rand.Read never fails; it crashes the process instead
		if text := base64.RawStdEncoding.EncodeToString(secret[:]); !strings.ContainsAny(text, "+/") {
			return text
		}
	}
}

// ParseKey reads 32 bytes in standard base64, with or without padding (RFC 4648, section 4), and white space around them. Its
// error never shows the text.
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
	return Key{id: keyID(secret), cipher: func() cipher.AEAD { return aead }}, nil
}

// keyID is the start of a hash made only for this purpose, which reveals nothing about the key.
func keyID(secret [KeyBytes]byte) string {
	sum := sha256.Sum256(append([]byte("storefront secret key id\x00"), secret[:]...))
	return hex.EncodeToString(sum[:idDigits/2])
}

// ID distinguishes keys and may be stored and shown.
func (k Key) ID() string { return k.id }

// String returns "secret key" and the id.
func (k Key) String() string { return "secret key " + k.id }

// Format is String for every verb, so that none prints the key.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, k.String()) }

func (k Key) aead() cipher.AEAD { return k.cipher() }
