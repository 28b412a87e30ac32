// Package seal encrypts secrets at rest: AES-256-GCM under the operator's secret key. The id of the key is stored beside the
// sealed text, so that the operator can replace the key while texts sealed under older keys still open. Each text is bound to a
// context, the id of its row, and opens only with it. The package writes no table and logs nothing. Its errors and the printed
// forms of its types contain no key and no text.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
)

// ErrUnknownKey means that the keyring lacks the key of a text. The error that wraps it names the key's id.
var ErrUnknownKey = errors.New("secret key is not known")

// ErrTampered means that a sealed text was changed, cut short or moved to another row, or that another key has the same id.
var ErrTampered = errors.New("sealed text was changed or belongs elsewhere")

// Keyring seals with its current key, and opens texts that any of its keys sealed. Goroutines may share it.
type Keyring struct {
	current Key
	older   []Key
}

// NewKeyring takes keys from ParseKey or LoadOrCreateFile, of which current seals.
func NewKeyring(current Key, older ...Key) *Keyring {
	return &Keyring{current: current, older: append([]Key(nil), older...)}
}

// Seal encrypts a text for the row that the context names. Store the sealed text with the id of its key, and pass the same
// context to Open. The nonce is random, which is safe for 2^32 texts under one key (NIST SP 800-38D, section 8.3).
func (r *Keyring) Seal(plain string, context []byte) (sealed []byte, keyID string) {
	return r.current.aead().Seal(nil, nil, []byte(plain), context), r.current.id
}

// Open returns the text that Seal sealed. It fails with ErrUnknownKey or ErrTampered.
func (r *Keyring) Open(sealed []byte, keyID string, context []byte) (string, error) {
	key, found := r.key(keyID)
	if !found {
		return "", fmt.Errorf("%w: %q is needed to open what it sealed", ErrUnknownKey, shortID(keyID))
	}
	plain, err := key.aead().Open(nil, nil, sealed, context)
	if err != nil {
		return "", ErrTampered
	}
	return string(plain), nil
}

// Current returns the id of the key with which the keyring seals.
func (r *Keyring) Current() string { return r.current.id }

// Has reports whether the keyring has the key with this id.
func (r *Keyring) Has(keyID string) bool {
	_, found := r.key(keyID)
	return found
}

func (r *Keyring) key(id string) (Key, bool) {
	if r.current.id == id {
		return r.current, true
	}
	for _, key := range r.older {
		if key.id == id {
			return key, true
		}
	}
	return Key{}, false
}

// Format writes the ids of the keys, whatever the verb, so that no verb prints a key.
func (r *Keyring) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "ring of "+r.current.String())
	for _, key := range r.older {
		_, _ = io.WriteString(f, ", "+key.String())
	}
}

// shortID shortens an id, which may be any text, for an error.
func shortID(id string) string {
	if len(id) > idDigits {
		return id[:idDigits] + "..."
	}
	return id
}

// newAEAD puts its random nonce before the text.
func newAEAD(secret [KeyBytes]byte) cipher.AEAD {
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err) // cannot fail: AES-256 takes 32 bytes
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // cannot fail: AES has GCM's block size
	}
	return aead
}
