package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.storefront.example/ent/atomicfile"
)

// ChecksumSuffix is the suffix of the file beside a backup with its SHA-256, in the form of sha256sum.
const ChecksumSuffix = ".sha256"

// Checksum returns a file's SHA-256 in hexadecimal digits.
func Checksum(ctx context.Context, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	part := make([]byte, 1<<20)
	for {
		n, err := file.Read(part)
		_, _ = hash.Write(part[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
	}
}

// WriteChecksum writes the checksum beside the backup. It reads the backup again, and fails if that has another checksum.
func WriteChecksum(ctx context.Context, backup, sum string) error {
	written, err := Checksum(ctx, backup)
	if err != nil {
		return err
	}
	if written != sum {
		return fmt.Errorf("the file %s has other bytes than were written: its disk is damaged", backup)
	}
	path := backup + ChecksumSuffix
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Create(path, func(temporary string) error {
		return os.WriteFile(temporary, []byte(sum+"  "+filepath.Base(backup)+"\n"), 0o600)
	})
}

func checksum(ctx context.Context, backup string) Finding {
	text, err := os.ReadFile(backup + ChecksumSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return warn("keep the .sha256 file of a backup beside it", "it has none: changed bytes inside a text are not noticed")
	}
	if err != nil {
		return fail(damagedRemedy, "%v", err)
	}
	want, _, _ := bytes.Cut(text, []byte(" "))
	switch got, err := Checksum(ctx, backup); {
	case err != nil:
		return fail(damagedRemedy, "%v", err)
	case got != string(bytes.TrimSpace(want)):
		return fail(damagedRemedy, "the file's bytes are not those that were backed up, or %s is of another file",
			filepath.Base(backup)+ChecksumSuffix)
	}
	return ok("every byte is as it was written")
}
