package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadOrCreateFile reads the key in a file and makes the file when there is none: a new key in
// base64 with mode 0600. Processes that start at once all return the same key, because the file
// gets its name only when it is whole, and whoever comes second reads the first one's. A file that
// holds something else is an error that never shows it, and is left alone.
func LoadOrCreateFile(path string) (Key, error) {
	key, err := loadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := createFile(path, NewKey()+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, fmt.Errorf("make secret key file: %w", err)
	}
	return loadFile(path)
}

func loadFile(path string) (Key, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("read secret key file: %w", err)
	}
	key, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// createFile writes a text under a name of its own and then links it to the path, which fails with
// fs.ErrExist where a rename would replace what another process has made.
func createFile(path, text string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.WriteString(text)
	// What the key seals is lost without it, so it must not be younger on disk than the database.
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes a new name last; systems that cannot sync a folder do it by themselves.
func syncFolder(path string) {
	folder, err := os.Open(path)
	if err != nil {
		return
	}
	_ = folder.Sync()
	_ = folder.Close()
}
