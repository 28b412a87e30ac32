package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.storefront.example/ent/atomicfile"
	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/apikey"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/auth"
)

const (
	// devKeyFile has dev's API key. Only the file's owner may read it.
	devKeyFile = "api-key"
	devKeyName = "dev"
	// devKeyLifetime makes a forgotten key expire.
	devKeyLifetime = adminv1.Key_DAYS_30
)

// devKey never expires if expiresAt is zero.
type devKey struct {
	text      string
	expiresAt time.Time
}

// apiKey keeps the previous start's key, so that programs go on working. Without a usable key, or with --new-key, it revokes
// earlier keys and stores a new one.
func (c *devCmd) apiKey(ctx context.Context, s *invocation, handle *db.DB, o admin.API, storeID string) (devKey, error) {
	path := filepath.Join(c.Data, devKeyFile)
	key, problem, err := keptKey(ctx, handle, storeID, path)
	switch {
	case err != nil:
		return devKey{}, err
	case c.NewKey:
	case problem != "":
		s.printMessage("the API key in " + path + " " + problem + ": here is another one")
	case key.text != "":
		return key, nil
	}
	if key, err = newDevKey(ctx, o); err != nil {
		return devKey{}, fmt.Errorf("make an API key: %w", err)
	}
	// Remove an earlier file before writing, because it may belong to another user, or be a link.
	if err = os.Remove(path); err == nil || errors.Is(err, fs.ErrNotExist) {
		err = atomicfile.Create(path, func(temporary string) error { return os.WriteFile(temporary, []byte(key.text+"\n"), 0o600) })
	}
	if err != nil {
		return devKey{}, fmt.Errorf("keep the API key: %w", err)
	}
	return key, nil
}

// keptKey reads a store's API key; problem says why it cannot be used. Without a file both are empty.
func keptKey(ctx context.Context, handle *db.DB, storeID, path string) (key devKey, problem string, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return key, "", nil
	case err != nil:
		return key, "", err
	case !info.Mode().IsRegular():
		return key, "is not in a file", nil
	case !isOwn(info) || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return key, "could be read by other users", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return key, "", err
	}
	key.text = strings.TrimSpace(string(text))
	fingerprint := auth.Fingerprint(key.text)
	row, err := handle.Client().ApiKey.Query().Where(apikey.Fingerprint(fingerprint[:])).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return key, "is not one of this database", nil
	case err != nil:
		return key, "", fmt.Errorf("read the API key: %w", err)
	case row.StoreID.String() != storeID:
		return key, "is of another store", nil
	case row.RevokedAt != nil:
		return key, "was revoked", nil
	case row.ExpiresAt != nil && !row.ExpiresAt.After(handle.Now()):
		return key, "has expired", nil
	case slices.ContainsFunc(auth.Scopes(), func(scope string) bool { return !slices.Contains(row.Scopes, scope) }):
		return key, "does not have every scope", nil
	}
	if row.ExpiresAt != nil {
		key.expiresAt = *row.ExpiresAt
	}
	return key, "", nil
}

// newDevKey revokes the keys of earlier starts, and makes one with every scope.
func newDevKey(ctx context.Context, o admin.API) (devKey, error) {
	keys, err := keysOf(ctx, o, demoSlug)
	if err != nil {
		return devKey{}, err
	}
	for _, k := range keys {
		if k.GetName() != devKeyName || k.GetStatus() == adminv1.Key_revoked {
			continue
		}
		if _, err := o.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Id: k.GetId()}); err != nil {
			return devKey{}, err
		}
	}
	made, err := o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: demoSlug, Name: devKeyName, Scopes: auth.Scopes(),
		Lifetime: devKeyLifetime})
	return devKey{made.GetSecret(), made.GetKey().GetExpiresAt().AsTime()}, err
}

func (k devKey) description(folder string) string {
	until := ""
	if !k.expiresAt.IsZero() {
		until = " until " + k.expiresAt.UTC().Format(time.DateOnly)
	}
	return fmt.Sprintf("%s (every scope%s; kept in %s, --new-key makes another)", k.text, until, filepath.Join(folder, devKeyFile))
}
