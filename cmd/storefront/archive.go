package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"go.storefront.example/server/transfer"
)

const (
	// maxManifestBytes is bounded because an import reads manifest.json into memory.
	maxManifestBytes = 1 << 20
	maxExportFiles   = 100
	// maxWindowBytes limits the decoder's memory to what RFC 8878 (3.1.1.1.2) recommends: 8 MiB.
	maxWindowBytes = 8 << 20
)

// exportFiles reads an export without unpacking an archive to the disk. It skips names that begin with a dot, which operating
// systems leave in folders.
type exportFiles interface {
	// next returns io.EOF after the last file. The content can be read until the next call of next or open.
	next() (name string, content io.Reader, err error)
	// open returns fs.ErrNotExist for a name that is not there. The content can be read until the next call of next or open.
	open(name string) (io.Reader, error)
	Close() error
}

func openExport(path string) (exportFiles, error) {
	if strings.HasSuffix(path, archiveSuffix) {
		return openArchive(path)
	}
	return openFolder(path)
}

type folderFiles struct {
	*os.Root
	remaining []string
	current   *os.File
}

func openFolder(path string) (exportFiles, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	f := &folderFiles{Root: root}
	all, err := root.Open(".")
	if err == nil {
		f.remaining, err = all.Readdirnames(maxExportFiles)
		err = errors.Join(err, all.Close())
	}
	if err != nil && !errors.Is(err, io.EOF) { // Readdirnames returns io.EOF for an empty folder
		return nil, errors.Join(err, root.Close())
	}
	f.remaining = slices.DeleteFunc(f.remaining, func(name string) bool { return strings.HasPrefix(name, ".") })
	return f, nil
}

func (f *folderFiles) next() (string, io.Reader, error) {
	if len(f.remaining) == 0 {
		return "", nil, io.EOF
	}
	name := f.remaining[0]
	f.remaining = f.remaining[1:]
	in, err := f.open(name)
	return name, in, err
}

func (f *folderFiles) open(name string) (in io.Reader, err error) {
	if f.current != nil {
		_ = f.current.Close()
		f.current = nil
	}
	info, err := f.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", name)
	}
	if err == nil {
		f.current, err = f.Open(name)
	}
	return f.current, err
}

func (f *folderFiles) Close() error {
	if f.current != nil {
		_ = f.current.Close()
	}
	return f.Root.Close()
}

type archiveFiles struct {
	file         *os.File
	decompressed *zstd.Decoder
	archive      *tar.Reader
}

func openArchive(path string) (exportFiles, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	decompressed, err := zstd.NewReader(file, zstd.WithDecoderMaxWindow(maxWindowBytes))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &archiveFiles{file, decompressed, tar.NewReader(decompressed)}, nil
}

func (a *archiveFiles) next() (string, io.Reader, error) {
	for {
		header, err := a.archive.Next()
		if errors.Is(err, io.EOF) {
			return "", nil, io.EOF
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s is no whole .tar.zst file: %w", a.file.Name(), err)
		}
		name := path.Clean(header.Name)
		switch {
		case header.Typeflag == tar.TypeDir, header.Typeflag == tar.TypeXGlobalHeader, strings.HasPrefix(path.Base(name), "."):
		case header.Typeflag != tar.TypeReg:
			return "", nil, fmt.Errorf("%s is no file", name)
		default:
			return name, a.archive, nil
		}
	}
}

// open needs only one pass if files are opened in the archive's order.
func (a *archiveFiles) open(name string) (io.Reader, error) {
	for range 2 {
		for {
			at, in, err := a.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || at == name {
				return in, err
			}
		}
		// End the decoder's goroutines, because they read ahead from the file whose position Seek resets.
		if err := a.decompressed.Reset(nil); err != nil {
			return nil, err
		}
		if _, err := a.file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		if err := a.decompressed.Reset(a.file); err != nil {
			return nil, err
		}
		a.archive = tar.NewReader(a.decompressed)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (a *archiveFiles) Close() error {
	a.decompressed.Close()
	return a.file.Close()
}

func pack(ctx context.Context, path, folder string, files []exportedFile) error {
	out, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = out.Close() })()
	compressed, err := zstd.NewWriter(out, zstd.WithWindowSize(maxWindowBytes))
	if err != nil {
		return errors.Join(err, out.Close())
	}
	archive := tar.NewWriter(compressed)
	for _, name := range packed(files) {
		if err = addFile(archive, folder, name); err != nil {
			break
		}
	}
	err = errors.Join(err, archive.Close(), compressed.Close(), out.Close())
	return cmp.Or(ctx.Err(), err)
}

func packed(files []exportedFile) []string {
	names := []string{manifestName}
	for _, f := range files {
		names = append(names, f.Name)
	}
	kinds := slices.Concat(transfer.ExportedKinds, transfer.SecretKinds)
	order := func(name string) int {
		return slices.Index(kinds, transfer.Kind(strings.TrimSuffix(name, linesSuffix)))
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	return names
}

func addFile(archive *tar.Writer, folder, name string) error {
	in, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, in)
	return err
}

// readManifest fails unless the export has exactly the listed files, undamaged. It needs little memory, however large they are.
func readManifest(ctx context.Context, files exportFiles, format string) (m manifest, err error) {
	var text []byte
	found := map[string]exportedFile{}
	for {
		name, in, err := files.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m, fmt.Errorf("read the export: %w", err)
		}
		if _, twice := found[name]; twice {
			return m, fmt.Errorf("the export has %s twice", name)
		} else if len(found) == maxExportFiles {
			return m, fmt.Errorf("the export has more than %d files", maxExportFiles)
		}
		file := exportedFile{Name: name}
		if name != manifestName {
			err = file.measure(contextReader{ctx, in})
		} else if text, err = io.ReadAll(io.LimitReader(in, maxManifestBytes+1)); len(text) > maxManifestBytes {
			return m, fmt.Errorf("%s is longer than %d bytes", manifestName, maxManifestBytes)
		}
		if err != nil {
			return m, fmt.Errorf("read %s of the export: %w", name, err)
		}
		found[name] = file
	}
	if text == nil {
		return m, fmt.Errorf("this is no export: it has no %s", manifestName)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("read %s of the export: %w", manifestName, err)
	}
	switch m.Format {
	case format:
	case csvFormat:
		return m, errors.New("this export is for people: import one without -o csv, or its products, customers and orders singly")
	default:
		return m, fmt.Errorf("the export has the format %q, which this release does not know", m.Format)
	}
	delete(found, manifestName)
	return m, m.check(found)
}

// check returns the first difference between the manifest and the files found. It requires a file for each kind of rows.
func (m *manifest) check(found map[string]exportedFile) error {
	unlisted := maps.Clone(found)
	for _, listed := range m.Files {
		f, ok := unlisted[listed.Name]
		if !ok {
			return fmt.Errorf("the export has no %s, or %s lists it twice", listed.Name, manifestName)
		}
		delete(unlisted, listed.Name)
		differs := func(property string, in, listed any) error {
			return fmt.Errorf("%s is not as it was exported: it has %s %v, and %s says %v", f.Name, property, in, manifestName, listed)
		}
		switch {
		case f.Bytes != listed.Bytes:
			return differs("a length of", f.Bytes, listed.Bytes)
		case f.SHA256 != listed.SHA256:
			return differs("the SHA-256", f.SHA256, listed.SHA256)
		case m.Format == exportFormat && f.Rows != listed.Rows:
			return differs("rows:", f.Rows, listed.Rows)
		}
	}
	for name := range unlisted {
		return fmt.Errorf("the export has %s, which %s does not list", name, manifestName)
	}
	suffix := linesSuffix
	if m.Format == csvFormat {
		suffix = csvSuffix
	}
	for kind := range rowMessages {
		if _, ok := found[kind+suffix]; !ok {
			return fmt.Errorf("the export is not whole: %s lists no %s%s", manifestName, kind, suffix)
		}
	}
	return nil
}

// measure sets f.Rows, f.Bytes and f.SHA256.
func (f *exportedFile) measure(in io.Reader) error {
	sum := sha256.New()
	length, err := io.Copy(io.MultiWriter(sum, (*rowCounter)(&f.Rows)), in)
	f.Bytes, f.SHA256 = length, hex.EncodeToString(sum.Sum(nil))
	return err
}

type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

type rowCounter int64

func (n *rowCounter) Write(p []byte) (int, error) {
	*n += rowCounter(bytes.Count(p, []byte("\n")))
	return len(p), nil
}
