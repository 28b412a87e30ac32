package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LoadOrCreateFile reads the key in a file, or creates the file with a new key in base64 and mode
// 0600. Processes that start at once all return the same key: the file gets its name only when it
// is complete, and later processes read the first one's. A file with other content is an error,
// which never shows the content, and is left alone.
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

// createFile writes a text under a temporary name and links it to the path. The link fails with
// fs.ErrExist where a rename would replace another process's file.
func createFile(path, text string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.WriteString(text)
	// Without the key, the sealed data is lost, so the key must reach the disk before the database.
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

// syncFolder makes a new name durable; systems that cannot sync a folder do it by themselves.
func syncFolder(path string) {
	folder, err := os.Open(path)
	if err != nil {
		return
	}
	_ = folder.Sync()
	_ = folder.Close()
}
