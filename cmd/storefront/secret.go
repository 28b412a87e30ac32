package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
)

type secretCmd struct {
	Generate secretGenerateCmd `cmd:"" help:"Print a new secret: base64 of 32 random bytes."`
}

// Help shows an example.
func (secretCmd) Help() string { return "Example:\n\n    storefront secret generate" }

type secretGenerateCmd struct{}

// Help shows an example.
func (secretGenerateCmd) Help() string {
	return "Example:\n\n    export STOREFRONT_SECRET_KEY=$(storefront secret generate)"
}

// secretBytes is the length of a key of AES-256.
const secretBytes = 32

// Run prints a secret.
func (secretGenerateCmd) Run(s *session) error {
	key := make([]byte, secretBytes)
	rand.Read(key)
	text := base64.StdEncoding.EncodeToString(key)
	if s.json {
		return s.value(map[string]string{"secret": text})
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}
