package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.storefront.example/ent/atomicfile"
)

// LoadOrCreateFile returns the key in the file at path. If there is no file, it creates one with a new key in base64 and
// mode 0600. Processes that start at once all return the same key, because the file gets its name only when it is complete,
// and the other processes read it. A file with other content stays unchanged and is an error, which never shows the content.
func LoadOrCreateFile(path string) (Key, error) {
	key, err := loadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	// The key must reach the disk before the database uses it, because without the key the sealed data is lost.
	err = atomicfile.Create(path, func(temporary string) error { return os.WriteFile(temporary, []byte(NewKey()+"\n"), 0o600) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, fmt.Errorf("make secret key file: %w", err)
	}
	return loadFile(path)
}

// emptyTimeout is how long LoadOrCreateFile waits when it reads an empty file, because another process may be about to replace
// it.
const emptyTimeout = 5 * time.Second

func loadFile(path string) (Key, error) {
	text, err := os.ReadFile(path)
	for began := time.Now(); err == nil && len(text) == 0 && time.Since(began) < emptyTimeout; {
		time.Sleep(10 * time.Millisecond)
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read secret key file: %w", err)
	}
	key, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}
