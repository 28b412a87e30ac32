package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
	"go.storefront.example/ent/hook"
)

func TestMain(m *testing.M) {
	// The tests' commands inherit it: otherwise a third of a command's time is garbage collection.
	_ = os.Setenv("GOGC", cmp.Or(os.Getenv("GOGC"), "400"))
	testscript.Main(m, map[string]func(){"storefront": main})
}

func TestCommandsOnEveryDatabase(t *testing.T) {
	t.Parallel()
	for _, name := range dbtest.Databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.EmptyURL(t, name)
			testscript.Run(t, testscript.Params{
				Dir: "testdata/script", Cmds: scriptCommands, RequireUniqueNames: true,
				Setup: func(e *testscript.Env) error {
					url := dbtest.URL(t, name)
					e.Setenv("GOGC", os.Getenv("GOGC"))
					e.Setenv("STOREFRONT_DATABASE_URL", url)
					e.Setenv("DATABASE_URL", url)
					e.Setenv("EMPTY_DATABASE_URL", dbtest.EmptyURL(t, name))
					return nil
				},
			})
		})
	}
}

func TestCommandsOfShards(t *testing.T) {
	t.Parallel()
	dbtest.RequireCitus(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/citus", Cmds: scriptCommands, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("EMPTY_DATABASE_URL", dbtest.EmptyURL(t, dbtest.Postgres))
			return nil
		},
	})
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/local", Cmds: scriptCommands, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error { e.Setenv("GOGC", os.Getenv("GOGC")); return nil },
	})
}

var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"code":    exitCode,
	"json":    jsonIs,
	"jsonenv": jsonEnv,
	"rows":    rowsAre,
	"ndjson":  makeLines,
	"finding": findingIs,
	"cluster": makeCluster,

	"complete":  completesTo,
	"beginning": partOf(func(text string, n int) string { return text[:n] }),
	"ending":    partOf(func(text string, n int) string { return text[len(text)-n:] }),
}

func makeCluster(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(dbtest.AddNodes(context.Background(), ts.Getenv("STOREFRONT_DATABASE_URL")))
}

// partOf sets a variable to a text's first or last letters, as in: beginning B $ID 13.
func partOf(cut func(string, int) string) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		ts.Setenv(args[0], cut(args[1], n))
	}
}

// completesTo requires completions, as in: complete 'storefront key ' create list revoke.
func completesTo(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("COMP_LINE", args[0])
	defer ts.Setenv("COMP_LINE", "")
	ts.Check(ts.Exec("storefront"))
	got := strings.Fields(ts.ReadFile("stdout"))
	slices.Sort(got)
	if !slices.Equal(got, args[1:]) {
		ts.Fatalf("%q is completed by %q", args[0], got)
	}
}

// exitCode is "code STATUS COMMAND …". The command must print one line on standard error.
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("exit status is not %s: %v", args[0], err)
	}
	said := ts.ReadFile("stderr")
	if !strings.HasPrefix(said, "storefront: ") || strings.Count(said, "\n") != 1 {
		ts.Fatalf("standard error is not one line of storefront's: %q", said)
	}
	if ts.ReadFile("stdout") != "" {
		ts.Fatalf("a command that failed printed a result")
	}
}

// jsonAt returns the text at a dotted path, in which len is the length of a list.
func jsonAt(ts *testscript.TestScript, file, path string) string {
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	var v any
	ts.Check(d.Decode(&v))
	if d.More() {
		ts.Fatalf("%s holds more than one JSON value", file)
	}
	for step := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			inner, ok := in[step]
			if !ok {
				ts.Fatalf("%s: there is no %s in %v", file, step, in)
			}
			v = inner
		case []any:
			if step == "len" {
				return strconv.Itoa(len(in))
			}
			i, err := strconv.Atoi(step)
			ts.Check(err)
			if i >= len(in) {
				ts.Fatalf("%s: there is no %d in a list of %d", file, i, len(in))
			}
			v = in[i]
		}
	}
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	text, err := plainJSON(v)
	ts.Check(err)
	return string(text)
}

// jsonIs requires a value, as in: json stdout 0.name 'the name'.
func jsonIs(ts *testscript.TestScript, neg bool, args []string) {
	if got := jsonAt(ts, args[0], args[1]); (got == args[2]) == neg {
		ts.Fatalf("%s is %q, want %q (negated: %t)", args[1], got, args[2], neg)
	}
}

// jsonEnv sets a variable, as in: jsonenv ID stdout id.
func jsonEnv(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], jsonAt(ts, args[1], args[2]))
}

func open(ts *testscript.TestScript) *db.DB {
	d, err := hook.Open(context.Background(), db.Config{URL: ts.Getenv("DATABASE_URL"), MaxConns: 2})
	ts.Check(err)
	return d
}

// rowsAre is "rows TABLE COUNT [COLUMN=VALUE …]": the table has COUNT rows with these values.
func rowsAre(ts *testscript.TestScript, _ bool, args []string) {
	d := open(ts)
	defer d.Close()
	query := "SELECT count(*) FROM " + args[0]
	var values []any
	for i, condition := range args[2:] {
		column, value, _ := strings.Cut(condition, "=")
		values = append(values, value)
		query += []string{" WHERE ", " AND "}[min(i, 1)] + column + " = $" + strconv.Itoa(i+1)
	}
	var n int
	ts.Check(d.Reader().QueryRow(query, values...).Scan(&n))
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d rows, want %s: %s", n, args[1], query)
	}
}

// makeLines is "ndjson FILE COUNT [BAD]": customers, of whom that on line BAD has an invalid e-mail.
func makeLines(ts *testscript.TestScript, _ bool, args []string) {
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	var b bytes.Buffer
	for i := 1; i <= count; i++ {
		email := fmt.Sprintf("Buyer%d@Example.com", i)
		if len(args) > 2 && args[2] == strconv.Itoa(i) {
			email = "nobody"
		}
		fmt.Fprintf(&b, `{"id":"01936d2e-0000-7000-8000-%012d","name":"Buyer %d","email":"%s","phone":null,"ordersCount":2,"totalPaid":700,"currency":"XAF","createdAt":"2025-03-04T05:06:07.%03dZ"}`+"\n", i, i, email, i%1000)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}
