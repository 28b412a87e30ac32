package main

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/gen/ent/event"
	"go.storefront.example/gen/ent/store"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/auth"
)

func TestDevPrintsACurlLineThatWorksAndKeepsItsKey(t *testing.T) {
	t.Parallel()
	data := t.TempDir() + "/new"
	var last string
	start := func(total int, args ...string) (key string, dev serving) {
		t.Helper()
		dev = startCommand(t, "Ctrl-C", devArgs(data, args...)...)
		curl := curlLine.FindStringSubmatch(dev.said)
		require.NotNil(t, curl, dev.said)
		status, body := get(t, curl[2], curl[1])
		require.Equal(t, http.StatusOK, status)
		require.Len(t, body["data"], 2)
		require.EqualValues(t, total, body["total"])
		key = strings.TrimPrefix(curl[1], "Bearer ")
		if last != "" && key != last {
			status, body = get(t, curl[2], "Bearer "+last)
			require.Equal(t, http.StatusUnauthorized, status)
			require.Contains(t, []any{"api_key_revoked", "api_key_invalid"}, body["code"])
		}
		last = key
		return key, dev
	}
	stop := func(dev serving) string {
		t.Helper()
		require.Equal(t, 0, dev.stop())
		require.NotContains(t, dev.logs.String(), last)
		return dev.logs.String()
	}

	first, dev := start(demoProducts)
	require.Contains(t, dev.said, "kept in "+filepath.Join(data, devKeyFile)+", --new-key makes another)")
	require.Contains(t, stop(dev), "/v1/products", "requests are logged")
	again, dev := start(demoProducts)
	require.Equal(t, first, again, "a program that has the key goes on")
	require.NotContains(t, stop(dev), "here is another")
	another, dev := start(demoProducts, "--new-key")
	require.NotEqual(t, first, another)
	require.NotContains(t, stop(dev), "here is another", "it was asked for")
	again, dev = start(demoProducts)
	require.Equal(t, another, again)

	url := "sqlite:" + filepath.Join(data, devDatabase)
	handle, err := hook.Open(t.Context(), db.Config{URL: url})
	require.NoError(t, err)
	require.Zero(t, handle.Client().Event.Query().Where(event.Type(notice.KeyCreated)).CountX(t.Context()),
		"no notice of its own keys")
	storefront(t, "store", "delete", "--now", demoSlug, demoSlug, "--database-url", url)
	require.Eventually(t, func() bool { return !handle.Client().Store.Query().Where(store.Slug(demoSlug)).ExistX(t.Context()) },
		time.Minute, 10*time.Millisecond, "dev's worker deletes it")
	require.NoError(t, handle.Close())
	stop(dev)
	_, dev = start(demoProducts)
	require.Contains(t, stop(dev), devKeyFile+" is not one of this database: here is another one", "the store was made anew")
	for _, file := range []string{devDatabase, devDatabase + ".key", devDatabase + "-wal", devDatabase + "-shm"} {
		if err := os.Remove(filepath.Join(data, file)); err != nil {
			require.ErrorIs(t, err, fs.ErrNotExist)
		}
	}
	_, dev = start(demoProducts)
	require.Contains(t, stop(dev), devKeyFile+" is not one of this database: here is another one", "the database was made anew")
}

func TestDevReplacesAKeyThatCannotBeUsedAndSaysWhy(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Now()
	handle := dbtest.New(t, dialect.SQLite, db.Config{Clock: func() time.Time { return now }})
	o := admin.New(handle, admin.Options{})
	var storeID string
	for _, slug := range []string{demoEuroSlug, demoSlug} {
		made, err := o.CreateStore(ctx, &adminv1.CreateStoreRequest{Name: "S", Slug: slug, Currency: "XAF", Country: "CM"})
		require.NoError(t, err)
		storeID = made.GetId()
	}
	create := func(store, name string, scopes ...string) *adminv1.CreateKeyResponse {
		made, err := o.CreateKey(ctx, &adminv1.CreateKeyRequest{Store: store, Name: name, Scopes: scopes, Lifetime: devKeyLifetime})
		require.NoError(t, err)
		return made
	}
	status := func(id string) adminv1.Key_Status {
		k, err := o.GetKey(ctx, &adminv1.GetKeyRequest{Id: id})
		require.NoError(t, err)
		return k.GetStatus()
	}
	idOf := func(text string) string {
		keys, err := keysOf(ctx, o, demoSlug)
		require.NoError(t, err)
		for _, k := range keys {
			if k.GetHint() == auth.Hint(text) {
				return k.GetId()
			}
		}
		return ""
	}
	dev := &devCmd{Data: t.TempDir()}
	path := filepath.Join(dev.Data, devKeyFile)
	start := func() (key devKey, said string) {
		t.Helper()
		var errs bytes.Buffer
		key, err := dev.apiKey(ctx, &invocation{errs: &errs}, handle, o, storeID)
		require.NoError(t, err)
		info, err := os.Lstat(path)
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
		if runtime.GOOS != "windows" {
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, key.text, strings.TrimSpace(string(text)))
		require.Equal(t, adminv1.Key_active, status(idOf(key.text)))
		require.WithinDuration(t, now.Add(30*24*time.Hour), key.expiresAt, time.Second)
		require.NotContains(t, errs.String(), auth.Prefix)
		return key, errs.String()
	}
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	other := create(demoEuroSlug, devKeyName, auth.Scopes()...)
	theirs := create(demoSlug, "crm", auth.Scopes()...)
	key, said := start()
	require.Empty(t, said, "the first one")

	for _, row := range []struct {
		why    string
		happen func()
		unix   bool
	}{
		{"was revoked", func() {
			_, err := o.RevokeKey(ctx, &adminv1.RevokeKeyRequest{Id: idOf(key.text)})
			require.NoError(t, err)
		}, false},
		{"has expired", func() { now = now.Add(30 * 24 * time.Hour) }, false},
		{"is not one of this database", func() { write("") }, false},
		{"is not one of this database", func() { write(auth.NewKey(uuid.New())) }, false},
		{"is of another store", func() { write(other.GetSecret()) }, false},
		{"does not have every scope", func() { write(create(demoSlug, "narrow", "store:read").GetSecret()) }, false},
		{"could be read by other users", func() { require.NoError(t, os.Chmod(path, 0o640)) }, true},
		{"is not in a file", func() {
			require.NoError(t, os.Rename(path, path+".moved"))
			require.NoError(t, os.Symlink(path+".moved", path))
		}, true},
		{"is not in a file", func() {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}, false},
		{"", func() { require.NoError(t, os.Remove(path)) }, false},
	} {
		if row.unix && runtime.GOOS == "windows" {
			continue
		}
		same, said := start()
		require.Equal(t, key, same, "what can be used is kept")
		require.Empty(t, said)
		row.happen()
		was := key
		key, said = start()
		require.NotEqual(t, was.text, key.text, row.why)
		require.NotEqual(t, adminv1.Key_active, status(idOf(was.text)), "%q: the last one is revoked", row.why)
		if row.why == "" {
			require.Empty(t, said, "a file that was removed")
		} else {
			require.Equal(t, "storefront: the API key in "+path+" "+row.why+": here is another one\n", said)
		}
	}
	if runtime.GOOS != "windows" {
		text, err := os.ReadFile(path + ".moved")
		require.NoError(t, err)
		require.NotEqual(t, key.text, strings.TrimSpace(string(text)), "a key is not written where a link leads")
	}
	require.Equal(t, adminv1.Key_expired, status(theirs.GetKey().GetId()), "nobody revoked it")
	require.Equal(t, adminv1.Key_expired, status(other.GetKey().GetId()), "nobody revoked it")
}
