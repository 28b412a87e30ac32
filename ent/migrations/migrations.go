// Package migrations holds the versioned SQL that makes the tables, a folder for each database, and
// numbers it. Package db runs it.
//
// The program in the folder diff writes a migration from the schema of ent; a person reviews it,
// and it is never edited once it has landed. There is no way down: servers of two versions run on
// one database during an upgrade, so a migration only adds what the older version can ignore, and a
// later release removes what no running version uses any more.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
)

// Header is the line that each file starts with.
const Header = "-- +goose Up\n"

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// File is one migration.
type File struct {
	Version int64  // from 1, without gaps
	Name    string // as in 00001_NAME.sql
}

// Folder is the name of the folder that holds the migrations of an ent dialect.
func Folder(name string) string {
	if name == dialect.SQLite {
		return "sqlite"
	}
	return name
}

// FS is the folder of an ent dialect.
func FS(name string) (fs.FS, error) { return fs.Sub(files, Folder(name)) }

// List lists the migrations of an ent dialect in their order. Goroutines may share it.
func List(name string) ([]File, error) {
	entries, err := files.ReadDir(Folder(name))
	if err != nil {
		return nil, fmt.Errorf("list the migrations: %w", err)
	}
	list := make([]File, len(entries))
	for i, e := range entries {
		number, rest, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".sql"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version != int64(i+1) {
			return nil, fmt.Errorf("list the migrations: %s is out of order", e.Name())
		}
		list[i] = File{Version: version, Name: rest}
	}
	return list, nil
}
