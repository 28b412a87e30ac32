package main

import (
	"errors"
	"fmt"
	"strings"

	"go.storefront.example/ent/seal"
	"go.storefront.example/server/admin"
)

type secretCmd struct {
	Generate secretGenerateCmd `cmd:"" help:"Print a new secret: base64 of 32 random bytes."`
	Rotate   secretRotateCmd   `cmd:"" help:"Encrypt the signing secrets of all webhooks under the new secret key."`
}

type secretGenerateCmd struct{}

// Run prints a secret.
func (secretGenerateCmd) Run(s *session) error {
	text := seal.NewKey()
	if s.json {
		return s.value(map[string]string{"secret": text})
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

type secretRotateCmd struct {
	database
	secretKey
}

// rotated is what a rotation did, as it is shown.
type rotated struct {
	SecretKey string `json:"secretKey"` // the key's id
	Webhooks  int    `json:"webhooks"`
	Resealed  int    `json:"resealed"`
}

// Run encrypts the secrets anew.
func (c *secretRotateCmd) Run(s *session) error {
	// The database first: a mistake in its URL must not make a key file.
	handle, err := c.open(s.ctx)
	if err != nil {
		return err
	}
	ring, err := c.ring(c.database)
	if err != nil {
		return errors.Join(err, handle.Close())
	}
	bar := newProgress(s.errs, "secrets", 0)
	so, err := admin.ResealSecrets(s.ctx, handle, ring, func(so admin.Resealed) {
		bar.draw(fmt.Sprintf("%d of %d secrets", so.Done, so.Webhooks))
	})
	bar.end()
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	switch {
	case len(so.Unknown) > 0:
		return fmt.Errorf("%d secrets are now under the key %s and %d are left under keys that are not given: %s; "+
			"name those keys in --old-secret-keys and run this again", so.Done, ring.Current(), so.Left, strings.Join(so.Unknown, ", "))
	case so.Left > 0:
		return fmt.Errorf("%d secrets are now under the key %s, but others keep coming under an older one: "+
			"restart every server with the new --secret-key, then run this again", so.Done, ring.Current())
	}
	if s.json {
		return s.value(rotated{ring.Current(), so.Webhooks, so.Done})
	}
	_, err = fmt.Fprintf(s.out, "%d of %d secrets encrypted anew; all are under the key %s and no other is needed\n", so.Done,
		so.Webhooks, ring.Current())
	return err
}
