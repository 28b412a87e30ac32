package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
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

// emptyPatience is how long an empty file is taken for one that another process is about to replace.
const emptyPatience = 5 * time.Second

func loadFile(path string) (Key, error) {
	text, err := os.ReadFile(path)
	for began := time.Now(); err == nil && len(text) == 0 && time.Since(began) < emptyPatience; {
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

// createFile writes a text under a temporary name and gives it the path, or fails with fs.ErrExist if
// another process was first.
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
	if err := giveName(temp.Name(), path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// giveName gives a file a name that no other file has, or fails with fs.ErrExist; a rename alone would
// replace another process's file. The old name may stay.
func giveName(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// FAT and some network shares have no links. The empty file keeps others from the name.
	empty, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = empty.Close(); err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(to))
	}
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
