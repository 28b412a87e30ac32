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
	"go.storefront.example/ent/db/dbtest/need"
	"go.storefront.example/ent/hook"
)

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

// Anyone may have made the file, and control characters could change the operator's terminal.
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

// An import on the database stores it.
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

	exported := filepath.Join(t.TempDir(), "export")
	command(t, 0, "export", "--store", "s", "--database-url", url, exported)
	orders, err := os.Stat(filepath.Join(exported, "orders.ndjson"))
	require.NoError(t, err)
	require.Greater(t, orders.Size(), int64(2<<20))
	other := dbtest.URL(t, dbtest.SQLite)
	code, said = does("", "STOREFRONT_ADMIN_URL", startServer(t, "--database-url", other, "--admin-token", remoteToken),
		"import", "--store", "s", "--create", exported)
	require.Equal(t, 1, code)
	require.Contains(t, said, "is larger than the 1 MiB that a server reads; import the file with --database-url")
	require.Contains(t, said, "orders.ndjson: line ")
	code, said = does("", "STOREFRONT_DATABASE_URL", other, "import", "--store", "s", exported)
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "orders: 2 rows, ")
}

func TestAKilledImportLeavesNoFiles(t *testing.T) {
	t.Parallel()
	need.Heavy(t, "it kills imports")
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open has its name there until the next import")
	}
	source, target := dbtest.URL(t, dbtest.SQLite), dbtest.URL(t, dbtest.SQLite)
	require.NoError(t, makeDemo(t.Context(), source))
	archive := filepath.Join(t.TempDir(), "export"+archiveSuffix)
	command(t, 0, "export", "--store", demoSlug, "--database-url", source, archive)
	temporary := t.TempDir()
	into := installation{t, map[string]string{"STOREFRONT_DATABASE_URL": target, "TMPDIR": temporary}}
	d, err := hook.Open(t.Context(), db.Config{URL: target, MaxConns: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()

	c := into.command("storefront", "import", "--store", "s", "--create", archive)
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return dbtest.Count(t, d, "products") > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	require.Empty(t, namesIn(t, temporary))

	c = into.command("storefront", "import", "--store", "s", "products", "-")
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	// More than a pipe holds, so that the import has begun to read when Write returns.
	_, err = in.Write(bytes.Repeat([]byte("title,price\n"), 100_000))
	require.NoError(t, err)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	require.Empty(t, namesIn(t, temporary))
}

// On the database and through a server, in a dry run, from a file and from standard input.
func TestImportReadsTextsAsTheFlagsSay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	people := filepath.Join(dir, "people.csv")
	// The file is in Windows-1250, in which \xec is ě, \xd8 is Ř and \xed is í.
	require.NoError(t, os.WriteFile(people, []byte("sep=;\r\nname;email\r\nZden\xeck \xd8\xedha;a@example.com\r\n"), 0o600))
	const orders = "reference,status,total,email,createdAt\nA1,PAID,5,a@example.com,8/4/2026 7:26 PM\n"
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, database)
			server := startServer(t, "--database-url", url, "--admin-token", remoteToken)
			for slug, setting := range map[string]string{"near": "STOREFRONT_DATABASE_URL", "far": "STOREFRONT_ADMIN_URL"} {
				value := url
				if slug == "far" {
					value = server
				}
				env := func(asked string) (string, bool) {
					found, ok := map[string]string{setting: value, "STOREFRONT_ADMIN_TOKEN": remoteToken}[asked]
					return found, ok
				}
				does := func(want int, in string, args ...string) string {
					t.Helper()
					var out bytes.Buffer
					require.Equal(t, want, run(t.Context(), args, env, strings.NewReader(in), &out, &out), "%s", &out)
					return out.String()
				}
				does(0, "", "store", "create", "--name", "S", "--slug", slug, "--currency", "XAF", "--country", "CM")
				load := []string{"import", "--store", slug}
				said := does(0, "", append(load, "--dry-run", "customers", people)...)
				require.Contains(t, strings.Join(strings.Fields(said), " "), "note: the file is not UTF-8 and is read as Windows-1252; if these "+
					`letters are wrong, name its encoding with --encoding ("Zdenìk Øíha"): line 3`)
				for _, flags := range [][]string{{"--dry-run"}, nil} {
					said = does(0, "", append(append(load, flags...), "--encoding", "windows-1250", "-o", "json", "customers", people)...)
					require.Contains(t, said, `"notes":["the file is read as windows-1250, as --encoding says (\"Zdeněk Říha\"): line 3"]`)
					said = does(0, orders, append(append(load, flags...), "--date-format", "MM/DD/YYYY", "--time-zone", "Europe/Paris", "orders", "-")...)
					require.Contains(t, strings.Join(strings.Fields(said), " "),
						`note: createdAt has no time zone and is read as Europe/Paris ("8/4/2026 7:26 PM"): line 2`)
				}
				require.Contains(t, does(0, "", "customer", "list", "--store", slug, "-o", "json"), `"name":"Zdeněk Říha"`)
				require.Contains(t, does(0, "", "order", "list", "--store", slug, "-o", "json"), `"createdAt":"2026-08-04T17:26:00.000Z"`)
				require.Contains(t, does(2, "", append(load, "--encoding", "cp-1250", "customers", people)...),
					"--encoding cp-1250: must be the name of an encoding, such as windows-1250")
				require.Contains(t, does(2, orders, append(load, "--time-zone", "Paris", "orders", "-")...),
					"--time-zone Paris: must be a name of the time zone database, such as Europe/Paris")
				require.Contains(t, does(2, "", append(load, "--encoding", "gbk", "export.tar.zst")...),
					"--encoding: is for a single file; an export is imported as it is")
			}
		})
	}
}
