package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"go.storefront.example/ent/atomicfile"
)

// LoadOrCreateFile returns the key in a file, or creates one with a new key in base64 and mode 0600. Processes that start at
// once all return the same key, because the file gets its name only when it is complete. A file with other content is an error,
// which never shows the content.
func LoadOrCreateFile(path string) (Key, error) {
	key, err := loadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	// Without the key the sealed data is lost, so it must reach the disk first.
	err = atomicfile.Create(path, func(temporary string) error { return os.WriteFile(temporary, []byte(NewKey()+"\n"), 0o600) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, fmt.Errorf("make secret key file: %w", err)
	}
	return loadFile(path)
}

// emptyTimeout is the wait for an empty file that another process may be about to replace.
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
