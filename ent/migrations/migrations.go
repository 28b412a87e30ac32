// Package migrations holds the numbered SQL files that create the tables, in a folder for each database. Package db runs them.
//
// The program in the folder diff writes a migration from ent/schema; a person reviews it, and nobody edits it once it has
// landed. Migrations cannot be undone. During an upgrade servers of two versions run on one database, so a migration only adds
// what the older version can ignore, and a later release removes what no running version uses.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
)

// Header is the first line of each file.
const Header = "-- +goose Up\n"

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// File is one migration.
type File struct {
	Version int64  // from 1, without gaps
	Name    string // as in 00001_NAME.sql
	// Statements are sent to the database one by one: a command, or everything between StatementBegin and StatementEnd.
	Statements []string
	// OneTransaction is false if each statement is a transaction of its own.
	OneTransaction bool
}

// Folder is that of the ent dialect with this name.
func Folder(name string) string {
	if name == dialect.SQLite {
		return "sqlite"
	}
	return name
}

// FS returns the folder of the ent dialect with this name.
func FS(name string) (fs.FS, error) { return fs.Sub(files, Folder(name)) }

// List returns the migrations for the ent dialect with this name, in order. Goroutines may call it at once.
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
		text, err := files.ReadFile(Folder(name) + "/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("list the migrations: %w", err)
		}
		list[i] = File{Version: version, Name: rest, Statements: split(string(text)), OneTransaction: !strings.Contains(string(text), noTransaction)}
	}
	return list, nil
}

const (
	noTransaction  = "-- +goose NO TRANSACTION\n"
	statementBegin = "-- +goose StatementBegin"
	statementEnd   = "-- +goose StatementEnd"
)

// split divides a file as goose does, whose own parser is internal. It leaves out comments before a statement.
func split(text string) (statements []string) {
	var lines []string
	inStatement := false // true between StatementBegin and StatementEnd
	for line := range strings.SplitSeq(text, "\n") {
		ends := !inStatement && strings.HasSuffix(line, ";")
		switch {
		case line == statementBegin:
			inStatement = true
			continue
		case line == statementEnd:
			inStatement, ends = false, true
		case len(lines) == 0 && (line == "" || strings.HasPrefix(line, "--")):
			continue
		default:
			lines = append(lines, line)
		}
		if ends {
			statements, lines = append(statements, strings.Join(lines, "\n")), nil
		}
	}
	return statements
}
