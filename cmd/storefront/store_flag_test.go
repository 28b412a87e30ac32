package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

var (
	// argumentOf has the kind of row that an argument names, by its beginning. namesNoRow lists commands whose argument names
	// something else.
	argumentOf = map[string]string{
		"product": "product", "customer": "customer", "order": "order", "link": "link", "key": "key", "webhook": "webhook",
		"delivery": "delivery", "dashboard sessions": "session",
	}
	namesNoRow = []string{"import", "export", "trigger"}
	// flagOf has the kind of row of each flag whose value may be an id.
	flagOf = map[string]string{"webhook": "webhook", "customer": "customer", "payment-link": "link", "product": "product"}
	// moreOf has what a command needs besides its row, by its name with the flag that names the row, if any.
	moreOf = map[string][]string{
		"product update": {"--title", "Q"}, "customer update": {"--name", "Q"}, "customer forget": {"--yes"},
		"link update": {"--title", "Q"}, "webhook update": {"--description", "Q"},
		"delivery resend --webhook": {"--since", "1h"}, "order create --customer": {"--product", "p"},
		"order create --payment-link": {"--customer-email", "b@example.com", "--amount", "500"},
		"order create --product":      {"--customer-email", "b@example.com"},
	}

	helpNamesID = regexp.MustCompile(`\bid\b`)
)

type rowCommand struct {
	name, flag, kind string
	storeIsArgument  bool
}

func (c rowCommand) line(store, id string) []string {
	args := strings.Fields(c.name)
	if c.storeIsArgument {
		args = append(args, store)
	} else {
		args = append(args, "--store", store)
	}
	name := c.name
	if c.flag != "" {
		args, name = append(args, "--"+c.flag), c.name+" --"+c.flag
	}
	return append(append(args, id), moreOf[name]...)
}

// rowCommands returns all commands that name a store and a row, those that delete it last. argumentOf, namesNoRow and flagOf
// must be complete.
func rowCommands(t *testing.T) (all []rowCommand) {
	t.Helper()
	parser, err := newParser(&cli{})
	require.NoError(t, err)
	for _, leaf := range parser.Model.Leaves(false) {
		_, name, _ := strings.Cut(leaf.FullPath(), " ")
		isStore := func(f *kong.Flag) bool { return f.Name == "store" }
		storeIsArgument := len(leaf.Positional) > 0 && leaf.Positional[0].Name == "slug"
		if !storeIsArgument && !slices.ContainsFunc(leaf.Flags, isStore) {
			continue
		}
		if len(leaf.Positional) > 0 && !storeIsArgument && !slices.Contains(namesNoRow, name) {
			kind := argumentOf[name[:max(0, strings.LastIndexByte(name, ' '))]]
			require.NotEmpty(t, kind, "%s: add to argumentOf which row it names", name)
			all = append(all, rowCommand{name, "", kind, false})
		}
		for _, f := range leaf.Flags {
			if f.Name == "store" || f.IsBool() || !helpNamesID.MatchString(f.Help) {
				continue
			}
			require.NotEmpty(t, flagOf[f.Name], "%s --%s: add to flagOf which row it names", name, f.Name)
			all = append(all, rowCommand{name, f.Name, flagOf[f.Name], storeIsArgument})
		}
	}
	require.Greater(t, len(all), 30)
	slices.SortStableFunc(all, func(a, b rowCommand) int {
		deletes := func(c rowCommand) int { return strings.Count(c.name, "delete") }
		return deletes(a) - deletes(b)
	})
	return all
}

type operated struct {
	*testing.T
	env map[string]string
}

func (o operated) run(args ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	env := func(name string) (string, bool) { value, ok := o.env[name]; return value, ok }
	status = run(context.Background(), args, env, strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// id returns the value at a path, such as 0.id, in the JSON that a command prints.
func (o operated) id(path string, args ...string) string {
	o.Helper()
	status, out, errs := o.run(append(args, "-o", "json")...)
	require.Zero(o, status, "%q: %s", args, errs)
	var at any
	require.NoError(o, json.Unmarshal([]byte(out), &at))
	for step := range strings.SplitSeq(path, ".") {
		if list, ok := at.([]any); ok {
			at = list[0]
			continue
		}
		at = at.(map[string]any)[step]
	}
	return at.(string)
}

// o.rows creates a store with a row of every kind, and returns the ids by kind.
func (o operated) rows(store string) map[string]string {
	o.Helper()
	o.id("id", "store", "create", "--name", store, "--slug", store, "--currency", "XAF", "--country", "CM")
	ids := map[string]string{
		"product": o.id("id", "product", "create", "--store", store, "--title", "P", "--type", "FILE", "--price", "5"),
		"link":    o.id("id", "link", "create", "--store", store, "--title", "L", "--min-amount", "5"),
		"key": o.id("id", "key", "create", "--store", store, "--name", "k", "--scopes", "store:read",
			"--expires", "30d"),
		"webhook": o.id("id", "webhook", "create", "--store", store, "--url", "https://shop.example.com/"),
	}
	ids["order"] = o.id("id", "order", "create", "--store", store, "--customer-email", "a@example.com", "--product", "p")
	ids["customer"] = o.id("0.id", "customer", "list", "--store", store)
	ids["delivery"] = o.id("id", "webhook", "ping", ids["webhook"])
	o.id("url", "dashboard", "link", "--store", store, "--member", "M", "--role", "owner", "--url", "https://o.example.com")
	ids["session"] = o.id("0.id", "dashboard", "sessions", "list", "--store", store)
	return ids
}

// server/admin/rpc tests the rule on every database and through a server.
func TestANamedStoreHoldsInCommands(t *testing.T) {
	t.Parallel()
	commands := rowCommands(t)
	o := operated{t, map[string]string{"STOREFRONT_DATABASE_URL": dbtest.URL(t, dbtest.SQLite),
		"STOREFRONT_SECRET_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}}
	own, others := o.rows("one"), o.rows("two")
	_, journal, _ := o.run("activity", "list", "--store", "two", "-o", "json")
	for _, c := range commands {
		for _, id := range []string{others[c.kind], strings.ToUpper(others[c.kind])} {
			line := c.line("one", id)
			status, out, errs := o.run(line...)
			require.Equal(t, 1, status, "%q: %s%s", line, out, errs)
			require.Regexp(t, "(there is|the store has) no ", errs, line)
		}
		status, _, errs := o.run(c.line("nowhere", own[c.kind])...)
		require.Equal(t, 1, status, "%q: %s", c.line("nowhere", own[c.kind]), errs)
		require.Contains(t, errs, "there is no store nowhere", c.name)
	}
	_, after, _ := o.run("activity", "list", "--store", "two", "-o", "json")
	require.Equal(t, journal, after, "nothing was changed")
	for _, c := range commands {
		status, _, errs := o.run(c.line("one", own[c.kind])...)
		require.NotEqual(t, 2, status, "%q: %s", c.line("one", own[c.kind]), errs)
		require.NotRegexp(t, "(there is|the store has) no ", errs, c.line("one", own[c.kind]))
	}
}
