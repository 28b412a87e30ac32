package main

import (
	"errors"
	"fmt"
	"strings"

	"go.storefront.example/ent/seal"
)

// secretKey is the setting of every command that makes or uses the signing secrets of webhooks.
type secretKey struct {
	SecretKey string `name:"secret-key" placeholder:"BASE64" help:"Encrypts the signing secrets of webhooks: base64 of 32 bytes, as storefront secret generate prints it. Better set as STOREFRONT_SECRET_KEY. On SQLite a missing one is made once and kept in <database file>.key."`
}

// ring returns the key that secrets are sealed with.
func (k secretKey) ring(d database) (*seal.Ring, error) {
	if k.SecretKey != "" {
		key, err := seal.ParseKey(k.SecretKey)
		if err != nil {
			return nil, usage("--secret-key: %w", err)
		}
		return seal.NewRing(key), nil
	}
	path, embedded := strings.CutPrefix(d.DatabaseURL, "sqlite:")
	if !embedded {
		return nil, errors.New("--secret-key is not set: the signing secrets of webhooks are kept encrypted; " +
			"make a key once with `storefront secret generate` and set STOREFRONT_SECRET_KEY to it everywhere")
	}
	key, err := seal.LoadOrCreateFile(path + ".key")
	if err != nil {
		return nil, fmt.Errorf("--secret-key: %w", err)
	}
	return seal.NewRing(key), nil
}
