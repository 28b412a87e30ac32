package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

// A file on standard input is not overwritten by --errors.
func TestErrorsAreNotWrittenToStandardInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "products.csv")
	require.NoError(t, os.WriteFile(path, []byte("title,price\nA,1\n"), 0o600))
	in, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = in.Close() })
	var errs bytes.Buffer
	unset := func(string) (string, bool) { return "", false }
	code := run(t.Context(), []string{"import", "--store", "s", "--errors", path, "products", "-"}, unset, in, io.Discard, &errs)
	require.Equal(t, 2, code)
	require.Contains(t, errs.String(), "is the file to import, which it would overwrite")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "title,price\nA,1\n", string(text))
}

// Files come from others: what they hold cannot write to the operator's terminal but as text.
func TestImportEscapesWhatItShows(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	env := func(name string) (string, bool) {
		if name != "STOREFRONT_DATABASE_URL" {
			return "", false
		}
		return url, true
	}
	load := func(kind, text string, flags ...string) string {
		var shown bytes.Buffer
		args := append([]string{"import", "--store", "s", kind, "-"}, flags...)
		require.Equal(t, 1, run(t.Context(), args, env, strings.NewReader(text), &shown, &shown))
		return shown.String()
	}
	require.Equal(t, 0, run(t.Context(), []string{"store", "create", "--name", "S", "--slug", "s", "--currency", "XAF", "--country",
		"CM"}, env, nil, io.Discard, io.Discard))
	require.Contains(t, load("products", "na\x1b]0;title\ame,price\nA,1\n"), `the columns are na\x1b]0;title\ame, price`)
	require.Contains(t, load("products", "title,price\x1b[2J\nA,x\nB,y\n", "--map", "price\x1b[2J=price"),
		`price\x1b[2J must be an amount such as 12.50, from 0 up, not "x", "y": lines 2–3`)
	require.Contains(t, load("customers", "{\"\\u009b2J\":1}\n"), `\u009b2J is not a known field ("1"): line 1`)
}

// An order may be larger than what a server reads: its line is reported beside the other bad ones, and a command on the
// database stores it.
func TestImportNamesTheLineThatIsTooLargeForAServer(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, dbtest.SQLite)
	server := startServer(t, "--database-url", url, "--admin-token", remoteToken)
	line := func(reference string, items int) string {
		item := `{"title":"x","unitAmount":1,"quantity":1}`
		return `{"reference":"` + reference + `","status":"FAILED","amount":5,"customer":{"email":"a@example.com"},"items":[` +
			strings.Repeat(item+",", items-1) + item + "]}\n"
	}
	text := line("R-1", 1) + line("R-2", 20_000)
	does := func(in, name, value string, args ...string) (int, string) {
		settings := map[string]string{name: value, "STOREFRONT_ADMIN_TOKEN": remoteToken}
		env := func(asked string) (string, bool) { value, ok := settings[asked]; return value, ok }
		var out bytes.Buffer
		return run(t.Context(), args, env, strings.NewReader(in), &out, &out), out.String()
	}
	load := []string{"import", "--store", "s", "orders", "-"}
	code, said := does("", "STOREFRONT_ADMIN_URL", server, "store", "create", "--name", "S", "--slug", "s", "--currency", "XAF",
		"--country", "CM")
	require.Equal(t, 0, code, said)
	code, said = does(text+"{}\n", "STOREFRONT_ADMIN_URL", server, load...)
	require.Equal(t, 1, code)
	require.Contains(t, said, "is larger than the 1 MiB that a server reads; import the file with --database-url: line 2\n")
	require.Contains(t, said, "2 lines cannot be imported, so nothing is stored")
	code, said = does(text, "STOREFRONT_DATABASE_URL", url, load...)
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "2 lines: 2 orders stored, 0 there before")
}

// What an import keeps on the disk while it runs, of a store or of standard input, is gone when it is killed.
func TestAKilledImportLeavesNoFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open has its name there until the next import")
	}
	source, target := dbtest.URL(t, dbtest.SQLite), dbtest.URL(t, dbtest.SQLite)
	require.NoError(t, makeDemo(t.Context(), source))
	archive := filepath.Join(t.TempDir(), "export"+archiveSuffix)
	command(t, 0, "export", "--store", demoSlug, "--database-url", source, archive)
	temporary := t.TempDir()
	into := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": target, "TMPDIR": temporary}}
	s, err := hook.Open(t.Context(), db.Config{URL: target, MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()

	c := into.command("storefront", "import", "--store", "s", "--create", archive)
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return dbtest.Count(t, s, "products") > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	require.Empty(t, namesIn(t, temporary))

	c = into.command("storefront", "import", "--store", "s", "products", "-")
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, err = in.Write(bytes.Repeat([]byte("title,price\n"), 100_000)) // more than a pipe holds, so that it has read some
	require.NoError(t, err)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	require.Empty(t, namesIn(t, temporary))
}
