package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"go.storefront.example/ent/hook"
)

type cli struct {
	Output string `short:"o" enum:"text,json,csv" default:"text" placeholder:"FORMAT" help:"Format of standard output: text, one JSON value (json), or of lists CSV (csv)."`
	Config string `placeholder:"FILE" help:"YAML file with settings; its keys are names of flags."`

	Dev        devCmd        `cmd:"" group:"run" help:"Run everything on an embedded database, with demo stores and an API key."`
	Server     serverCmd     `cmd:"" group:"run" help:"Serve the public API and the admin listener."`
	Worker     workerCmd     `cmd:"" group:"run" help:"Deliver webhooks."`
	Migrate    migrateCmd    `cmd:"" group:"run" help:"Bring the database's schema up to date, or show its migrations."`
	Store      storeCmd      `cmd:"" group:"sell" help:"Create, list, show, update, delete and restore stores."`
	Key        keyCmd        `cmd:"" group:"connect" help:"Create, list, show and revoke a store's API keys."`
	Product    productCmd    `cmd:"" group:"sell" help:"Create, list, show and update products."`
	Customer   customerCmd   `cmd:"" group:"sell" help:"Create, list, show and update customers, and erase their personal data."`
	Order      orderCmd      `cmd:"" group:"sell" help:"Record and list orders, and mark them as paid, failed, cancelled or refunded."`
	Link       linkCmd       `cmd:"" group:"sell" help:"Create, list, show, update, enable and disable payment links."`
	Webhook    webhookCmd    `cmd:"" group:"connect" help:"Register, change and test the webhooks of a store."`
	Delivery   deliveryCmd   `cmd:"" group:"connect" help:"Read the delivery journal, and send deliveries again."`
	Event      eventCmd      `cmd:"" group:"connect" help:"Post an event again to a URL of this machine."`
	Listen     listenCmd     `cmd:"" group:"connect" help:"Forward a store's events to a URL of this machine."`
	Trigger    triggerCmd    `cmd:"" group:"connect" help:"Cause an event of a type, with demo data."`
	MCP        mcpCmd        `cmd:"" name:"mcp" group:"connect" help:"Offer a store's API to agents, by the Model Context Protocol."`
	Activity   activityCmd   `cmd:"" group:"sell" help:"Read a store's activity journal."`
	Dashboard  dashboardCmd  `cmd:"" group:"sell" help:"Make sign-in links to a store's dashboard, and end sessions."`
	Import     importCmd     `cmd:"" group:"sell" help:"Import products, customers or orders in bulk, or a whole export."`
	Export     exportCmd     `cmd:"" group:"sell" help:"Write all data of a store into files."`
	Secret     secretCmd     `cmd:"" group:"keep" help:"Make secrets for the service's settings, and replace the secret key."`
	Backup     backupCmd     `cmd:"" group:"keep" help:"Copy a SQLite database while it is in use, and check copies."`
	Shard      shardCmd      `cmd:"" group:"keep" help:"Distribute the tables by store over several machines, with Citus."`
	Doctor     doctorCmd     `cmd:"" group:"keep" help:"Check this installation, and suggest fixes."`
	Completion completionCmd `cmd:"" group:"keep" help:"Print the completion script of a shell."`
	Health     healthCmd     `cmd:"" group:"keep" help:"Report whether the server or worker on this machine is ready."`
	Help       helpCmd       `cmd:"" group:"keep" help:"Show the help of a command."`
	Version    versionCmd    `cmd:"" group:"keep" help:"Show the version, the commit and the version of Go, as --version does."`
}

const description = `Storefront serves the API of online stores and operates it.

Every flag can also be set in the environment as STOREFRONT_<FLAG>, in upper case with _ for -, and in a YAML file named with --config, whose keys are the names of flags. A flag wins over the environment, the environment over the file. A secret, such as --admin-token, can be in a file that STOREFRONT_<FLAG>_FILE names; each command with one says so.

In the folder of storefront dev and below, commands that are given no database or server use those of dev; server, worker and migrate do not.

Exit status: 0 on success, 1 when something was refused or failed, 2 when the command line is wrong.

Example:

    storefront dev
    storefront key create --store demo --name crm --scopes customers:read --expires 90d -o json`

// BeforeResolve reads the settings file, which the command line may name. kong calls it after parsing.
func (c *cli) BeforeResolve(k *kong.Context, s *settings) error {
	return s.load(k)
}

// newParser replaces ${events} in help texts by the types of events.
func newParser(c *cli, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(c, append(options, kong.KindMapper(reflect.String, textMapper{}),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), durationMapper{}), kong.Vars{
			"events": strings.Join(hook.EventTypes(), ", "),
		})...)
	if err != nil {
		return nil, err
	}
	return parser, addHelp(parser.Model.Node)
}

var groups = []kong.Group{
	{Key: "run", Title: "Run the service:"}, {Key: "sell", Title: "Stores and what they sell:"},
	{Key: "connect", Title: "Keys, webhooks and events:"}, {Key: "keep", Title: "Install, check and keep:"},
}

// storeOfLine returns the store that the command line names with --store or as its argument, or "".
func storeOfLine(k *kong.Context) string {
	for _, f := range k.Flags() {
		if f.Name == "store" {
			return f.Target.String()
		}
	}
	if node := k.Selected(); node != nil && len(node.Positional) > 0 && node.Positional[0].Name == "slug" {
		return node.Positional[0].Target.String()
	}
	return ""
}

func isList(n *kong.Node) bool {
	return n != nil && (n.Name == "list" || n.Name == "doctor" || n.Name == "export" || n.Parent.Name == "migrate")
}

// textMapper accepts the values of an enum in any case, and lists with spaces after the commas.
type textMapper struct{}

func (textMapper) Decode(k *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := k.Scan.PopValueInto("string", &text); err != nil {
		return err
	}
	if k.Value.IsSlice() {
		text = strings.TrimSpace(text)
	}
	if k.Value.Enum != "" {
		for _, value := range k.Value.EnumSlice() {
			if strings.EqualFold(value, text) {
				text = value
			}
		}
	}
	target.SetString(text)
	return nil
}

// listFlags may be given with spaces after commas, at which the shell splits the list into several arguments.
var listFlags = []string{"--scopes", "--events", "--unavailable-types", "--trusted-proxies", "--retry-delays"}

var negativeNumber = regexp.MustCompile(`^-\d`)

// normalizeArgs turns help into --help and --version into version, joins lists that the shell split, and marks negative numbers
// as values.
func normalizeArgs(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help" && !slices.Contains(args, "--help"):
		return append(slices.Clone(args[1:]), "--help")
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	}
	var out []string
	for i, arg := range args {
		last := len(out) - 1
		switch {
		case i > 0 && negativeNumber.MatchString(arg) && strings.HasPrefix(args[i-1], "--"):
			out[last] += "=" + arg
		case last > 0 && strings.HasSuffix(out[last], ",") && slices.Contains(listFlags, out[last-1]) && !strings.HasPrefix(arg, "-"):
			out[last] += arg
		default:
			out = append(out, arg)
		}
	}
	return out
}

// run returns the exit status: 1 if a well-formed command failed, 2 if the command line is wrong. Results go to out, all else
// to errs. A command that serves runs until the context ends.
func run(ctx context.Context, args []string, env func(string) (string, bool), in io.Reader, out, errs io.Writer) int {
	var c cli
	exited := false
	set := &settings{env: env}
	s := &invocation{ctx: ctx, in: in, out: out, errs: errs, env: env, terminal: terminalOf(out, env)}
	parser, err := newParser(&c,
		kong.Name("storefront"), kong.Description(description), kong.Writers(out, errs),
		kong.Exit(func(int) { exited = true }), kong.Resolvers(set), kong.Bind(set),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}), kong.ValueFormatter(describe),
		kong.ExplicitGroups(groups),
	)
	if err != nil {
		return s.report(fmt.Errorf("read the command line's grammar: %w", err))
	}
	if complete(parser.Model.Node, env, out) {
		return 0
	}
	k, err := parser.Parse(normalizeArgs(args))
	switch {
	case exited:
		return 0
	case err != nil:
		return s.report(parserError(err))
	}
	if s.given, err = explicit(k); err != nil {
		return s.report(err)
	}
	s.command, _, _ = strings.Cut(k.Command(), " <") // cuts off the names of arguments, such as <id>
	s.json, s.csv, s.flags, s.store = c.Output == "json", c.Output == "csv", k.Flags(), storeOfLine(k)
	if s.csv && !isList(k.Selected()) {
		return s.report(usage("-o csv is for lists; `%s` prints text or json", k.Selected().FullPath()))
	}
	s.warnOfVariables(os.Environ(), parser.Model.Node)
	s.dev = s.selectDev(k, set.dev)
	return s.report(k.Run(s))
}
