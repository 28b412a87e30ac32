package main

import (
	"errors"
	"fmt"
	"strings"

	"go.storefront.example/cmd/storefront/doctor"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
	"go.storefront.example/server/admin"
)

type secretCmd struct {
	Generate secretGenerateCmd `cmd:"" help:"Print a new secret: base64 of 32 random bytes."`
	Rotate   secretRotateCmd   `cmd:"" help:"Encrypt the signing secrets of all webhooks under the new secret key."`
}

type secretGenerateCmd struct{}

func (secretGenerateCmd) Run(s *invocation) error {
	text := seal.NewKey()
	if s.json {
		return s.printValue(map[string]string{"secret": text})
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

type secretRotateCmd struct {
	database
	secretKey
	ReplaceLost bool `help:"Give each webhook whose secret no key decrypts a new signing secret, and print it. Use it when a key is lost."`
}

type rotateResult struct {
	SecretKey string `json:"secretKey"` // the id of the current secret key
	Webhooks  int    `json:"webhooks"`
	Resealed  int    `json:"resealed"`
	// Replaced has the new signing secrets that --replace-lost made.
	Replaced []replacedSecret `json:"replaced,omitempty"`
}

type replacedSecret struct {
	Webhook string `json:"webhook"`
	Secret  string `json:"secret"`
}

// Run encrypts the webhooks' secrets with the current secret key.
func (c *secretRotateCmd) Run(s *invocation) error {
	// Open the database before c.ring creates a key file, because the database's URL may be wrong.
	handle, err := c.open(s.ctx)
	if err != nil {
		return err
	}
	ring, err := c.ring(c.database)
	if err != nil {
		return errors.Join(err, handle.Close())
	}
	result, err := c.rotate(s, handle, ring)
	// Print the new secrets even after an error, because nothing else shows them.
	if !s.json {
		for _, r := range result.Replaced {
			_, printed := fmt.Fprintf(s.out, "webhook %s has a new secret, which its owner needs: %s\n", r.Webhook, r.Secret)
			err = errors.Join(err, printed)
		}
	}
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	if s.json {
		return s.printValue(result)
	}
	_, err = fmt.Fprintf(s.out, "%s of %s secrets encrypted anew; all are under the key %s and no other is needed\n",
		grouped(result.Resealed), grouped(result.Webhooks), ring.Current())
	return err
}

func (c *secretRotateCmd) rotate(s *invocation, handle *db.DB, ring *seal.Keyring) (result rotateResult, err error) {
	result.SecretKey = ring.Current()
	if c.ReplaceLost {
		err := admin.ReplaceLostSecrets(s.ctx, handle, ring, func(webhook, secret string) {
			result.Replaced = append(result.Replaced, replacedSecret{webhook, secret})
		})
		if err != nil {
			return result, err
		}
	}
	bar := newProgress(s.errs, "secrets", 0)
	resealed, err := admin.ResealSecrets(s.ctx, handle, ring, func(resealed admin.ResealProgress) {
		bar.draw(grouped(resealed.Done) + " of " + grouped(resealed.Webhooks) + " secrets")
	})
	bar.end()
	result.Webhooks, result.Resealed = resealed.Webhooks, resealed.Done
	switch {
	case err != nil:
		return result, err
	case len(resealed.Unknown) > 0:
		return result, fmt.Errorf("%s secrets are now under the key %s, and %s are left under keys that are not given, of the webhooks %s; "+
			"name those keys in --old-secret-keys and run this again, or if they are lost, with --replace-lost",
			grouped(resealed.Done), ring.Current(), grouped(resealed.Left), seal.Names(resealed.Unknown))
	case resealed.Left > 0:
		return result, fmt.Errorf("%s secrets are now under the key %s, but others keep coming under an older one: "+
			"restart every server with the new --secret-key, then run this again", grouped(resealed.Done), ring.Current())
	}
	return result, nil
}

// secretKey has the flags of commands that encrypt or decrypt the signing secrets of webhooks.
type secretKey struct {
	SecretKey     string   `name:"secret-key" secret:"" placeholder:"BASE64" help:"Key that encrypts the signing secrets of webhooks, the same for every process (storefront secret generate prints one). Keep a copy: without it no secret can be read. On SQLite a missing key is made in <database file>.key."`
	OldSecretKeys []string `name:"old-secret-keys" secret:"" placeholder:"BASE64,…" help:"Former keys, separated by commas, until storefront secret rotate has replaced them."`
}

// keyFile returns the path of the key file beside a SQLite file, which is used unless --secret-key is set.
func keyFile(databaseURL string) (path string, embedded bool) {
	path, embedded = strings.CutPrefix(databaseURL, "sqlite:")
	return path + ".key", embedded
}

// check refuses texts that are no keys.
func (k secretKey) check() error {
	if k.SecretKey != "" {
		if _, err := seal.ParseKey(k.SecretKey); err != nil {
			return usage("--secret-key: %w", err)
		}
	}
	_, err := k.older()
	return err
}

// ring returns the key that encrypts secrets, and older keys. On SQLite it creates a missing key file.
func (k secretKey) ring(d database) (*seal.Keyring, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	older, err := k.older()
	if err != nil {
		return nil, err
	}
	if k.SecretKey != "" {
		key, err := seal.ParseKey(k.SecretKey)
		return seal.NewKeyring(key, older...), err
	}
	path, embedded := keyFile(d.DatabaseURL)
	if !embedded {
		return nil, errors.New("--secret-key is not set: the signing secrets of webhooks are kept encrypted; " +
			"make a key once with `storefront secret generate` and set STOREFRONT_SECRET_KEY to it everywhere")
	}
	if file := strings.TrimSuffix(path, ".key"); !exists(file) && !exists(path) {
		return nil, noFile(fmt.Errorf("%w %s", db.ErrNoFile, file))
	}
	key, err := seal.LoadOrCreateFile(path)
	if err != nil {
		return nil, fmt.Errorf("--secret-key: %w", err)
	}
	return seal.NewKeyring(key, older...), nil
}

// keys returns what a server or worker on this database would use. It creates no key file.
func (k secretKey) keys(databaseURL string) doctor.SecretKeys {
	path, embedded := keyFile(databaseURL)
	if k.SecretKey == "" && (!embedded || !exists(path)) {
		return doctor.SecretKeys{Made: embedded}
	}
	ring, err := k.ring(database{DatabaseURL: databaseURL})
	return doctor.SecretKeys{Ring: ring, Err: err}
}

func (k secretKey) older() ([]seal.Key, error) {
	if len(k.OldSecretKeys) == 1 && k.OldSecretKeys[0] == none {
		return nil, nil
	}
	keys := make([]seal.Key, len(k.OldSecretKeys))
	for i, text := range k.OldSecretKeys {
		var err error
		if keys[i], err = seal.ParseKey(text); err != nil {
			return nil, usage("--old-secret-keys: key %d: %w", i+1, err)
		}
	}
	return keys, nil
}
