package seal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"go.storefront.example/ent/seal"
)

func newKey(t testing.TB) seal.Key {
	t.Helper()
	key, err := seal.ParseKey(seal.NewKey())
	require.NoError(t, err)
	return key
}

var row = []byte("0198c1f0-0000-7000-8000-000000000001")

func TestOpenReturnsWhatSealTook(t *testing.T) {
	t.Parallel()
	ring := seal.NewKeyring(newKey(t))
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.String().Draw(t, "plain")
		context := rapid.SliceOf(rapid.Byte()).Draw(t, "context")
		sealed, id := ring.Seal(plain, context)
		got, err := ring.Open(sealed, id, context)
		require.NoError(t, err)
		require.Equal(t, plain, got)

		_, err = ring.Open(sealed, id, append([]byte("x"), context...))
		require.ErrorIs(t, err, seal.ErrTampered, "another row")
		at := rapid.IntRange(0, len(sealed)-1).Draw(t, "at")
		sealed[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		_, err = ring.Open(sealed, id, context)
		require.ErrorIs(t, err, seal.ErrTampered, "a changed bit")
	})
}

func TestSealHidesTheText(t *testing.T) {
	t.Parallel()
	ring := seal.NewKeyring(newKey(t))
	plain := strings.Repeat("whsec_", 10)
	one, _ := ring.Seal(plain, row)
	two, _ := ring.Seal(plain, row)
	require.NotEqual(t, one, two, "the same text twice looks different")
	require.NotContains(t, string(one), "whsec_")
	require.Len(t, one, 12+len(plain)+16, "nonce, text, tag")
}

func TestAnOlderKeyStillOpens(t *testing.T) {
	t.Parallel()
	older, current := newKey(t), newKey(t)
	sealed, id := seal.NewKeyring(older).Seal("secret", row)
	require.Equal(t, older.ID(), id)

	plain, err := seal.NewKeyring(current, newKey(t), older).Open(sealed, id, row)
	require.NoError(t, err)
	require.Equal(t, "secret", plain)

	_, id = seal.NewKeyring(current, older).Seal("secret", row)
	require.Equal(t, current.ID(), id, "only the current key seals")

	_, err = seal.NewKeyring(current).Open(sealed, older.ID(), row)
	require.ErrorIs(t, err, seal.ErrUnknownKey)
	require.ErrorContains(t, err, older.ID(), "the operator needs the id of the missing key")
	_, err = seal.NewKeyring(current).Open(sealed, strings.Repeat("x", 1000), row)
	require.ErrorIs(t, err, seal.ErrUnknownKey)
	require.Less(t, len(err.Error()), 200)
	_, err = seal.NewKeyring(current).Open(sealed, "", row)
	require.ErrorIs(t, err, seal.ErrUnknownKey)
	_, err = seal.NewKeyring(current).Open(sealed, current.ID(), row)
	require.ErrorIs(t, err, seal.ErrTampered, "another key's id beside the text")
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	good := seal.NewKey()
	for _, c := range []struct {
		reason, text string
		valid        bool
	}{
		{"as NewKey prints it", good, true},
		{"as a file ends", good + "\n", true},
		{"with white space around it", " " + good + "\r\n", true},
		{"nothing", "", false},
		{"16 bytes", base64.StdEncoding.EncodeToString(make([]byte, 16)), false},
		{"33 bytes", base64.StdEncoding.EncodeToString(make([]byte, 33)), false},
		{"31 bytes, as long in base64", base64.StdEncoding.EncodeToString(make([]byte, 31)), false},
		{"without padding", strings.TrimRight(good, "="), true},
		{"two spellings of one key", strings.Repeat("A", 42) + "B=", false},
		{"hex", strings.Repeat("ab", 32), false},
		{"a line break within", good[:10] + "\n" + good[10:], false},
		{"as long, with a line break", good[:10] + "\n" + good[11:], false},
		{"characters that are not base64", strings.Repeat("!", 43) + "=", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := seal.ParseKey(c.text)
			if c.valid {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "storefront secret generate", c.reason)
			if len(c.text) > 20 {
				require.NotContains(t, err.Error(), c.text[:10])
			}
		})
	}
}

func TestNothingPrintsAKey(t *testing.T) {
	t.Parallel()
	text := seal.NewKey()
	secret, err := base64.RawStdEncoding.DecodeString(text)
	require.NoError(t, err)
	key, err := seal.ParseKey(text)
	require.NoError(t, err)
	ring := seal.NewKeyring(key, newKey(t))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{key, &key, ring, []seal.Key{key}, struct{ Key seal.Key }{key}, struct{ ring *seal.Keyring }{ring},
			struct{ key seal.Key }{key}} {
			printed := fmt.Sprintf(verb, value)
			require.NotContains(t, printed, text, verb)
			require.NotContains(t, printed, hex.EncodeToString(secret[:4]), verb)
			require.NotContains(t, printed, strings.Trim(fmt.Sprint(secret[:4]), "[]"), verb)
		}
	}
	require.Equal(t, "secret key "+key.ID(), fmt.Sprint(key))
	require.Regexp(t, `^[0-9a-f]{16}$`, key.ID())
	again, err := seal.ParseKey(text)
	require.NoError(t, err)
	require.Equal(t, key.ID(), again.ID(), "an id is made of the key alone")
	require.NotEqual(t, key.ID(), newKey(t).ID())
}

func TestLoadOrCreateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "storefront.db.key")
	const starters = 16
	ids := make([]string, starters)
	var all sync.WaitGroup
	for i := range starters {
		all.Go(func() {
			key, err := seal.LoadOrCreateFile(path)
			if err == nil {
				ids[i] = key.ID()
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id, "who starts at once gets the same key")
	}
	require.NotEmpty(t, ids[0])

	key, err := seal.LoadOrCreateFile(path)
	require.NoError(t, err)
	require.Equal(t, ids[0], key.ID(), "a later start finds it")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left beside it")
}

func TestLoadOrCreateFileLeavesWhatIsNoKeyAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte("something dear"), 0o600))
	_, err := seal.LoadOrCreateFile(path)
	require.ErrorContains(t, err, path)
	require.NotContains(t, err.Error(), "dear")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "something dear", string(text))

	_, err = seal.LoadOrCreateFile(filepath.Join(path, "below", "a", "file"))
	require.Error(t, err, "a folder that cannot be")
}

func FuzzOpen(f *testing.F) {
	key, err := seal.ParseKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	require.NoError(f, err)
	ring := seal.NewKeyring(key)
	sealed, id := ring.Seal("whsec_x", row)
	f.Add(sealed, id, row)
	f.Add(sealed[:12], id, row)
	f.Add(bytes.Repeat([]byte{0}, 28), id, []byte{})
	f.Add([]byte{}, "", []byte{})
	f.Fuzz(func(t *testing.T, text []byte, keyID string, context []byte) {
		plain, err := ring.Open(text, keyID, context)
		if err == nil {
			require.Equal(t, "whsec_x", plain, "nobody can write a sealed text without the key")
			require.Equal(t, row, context)
			return
		}
		require.Empty(t, plain)
		require.Less(t, len(err.Error()), 200)
	})
}
