package main

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"go.storefront.example/ent/hook"
	"go.storefront.example/worker"
)

// cli is the command line.
type cli struct {
	Output string `short:"o" enum:"text,json,csv" default:"text" placeholder:"FORMAT" help:"Format of standard output: text, one JSON value (json), or of lists CSV (csv)."`
	Config string `placeholder:"FILE" help:"YAML file with settings; its keys are names of flags."`

	Dev        devCmd        `cmd:"" group:"run" help:"Run everything on an embedded database, with a demo store and a new API key."`
	Server     serverCmd     `cmd:"" group:"run" help:"Serve the public API and the operator's listener."`
	Worker     workerCmd     `cmd:"" group:"run" help:"Deliver webhooks."`
	Migrate    migrateCmd    `cmd:"" group:"run" help:"Bring the database's schema up to date, or show how far it is."`
	Store      storeCmd      `cmd:"" group:"sell" help:"Create, list, show and update stores."`
	Key        keyCmd        `cmd:"" group:"connect" help:"Create, list, show and revoke a store's API keys."`
	Product    productCmd    `cmd:"" group:"sell" help:"Create, list, show and update products."`
	Customer   customerCmd   `cmd:"" group:"sell" help:"Create, list, show and update customers."`
	Order      orderCmd      `cmd:"" group:"sell" help:"Record and list orders, and mark them as paid, failed, cancelled or refunded."`
	Link       linkCmd       `cmd:"" group:"sell" help:"Create, list, show, update, enable and disable payment links."`
	Webhook    webhookCmd    `cmd:"" group:"connect" help:"Register, change and test the webhooks of a store."`
	Delivery   deliveryCmd   `cmd:"" group:"connect" help:"Read the journal of deliveries, and send again."`
	Event      eventCmd      `cmd:"" group:"connect" help:"Forward an event again."`
	Listen     listenCmd     `cmd:"" group:"connect" help:"Forward a store's events to an address of this machine."`
	Trigger    triggerCmd    `cmd:"" group:"connect" help:"Make an event of a type, with demo data."`
	Activity   activityCmd   `cmd:"" group:"sell" help:"Read a store's activity journal."`
	Dashboard  dashboardCmd  `cmd:"" group:"sell" help:"Let members in to the dashboard of their store."`
	Import     importCmd     `cmd:"" group:"sell" help:"Load existing products, customers or orders in bulk."`
	Secret     secretCmd     `cmd:"" group:"keep" help:"Make secrets for the service's settings, and replace the secret key."`
	Backup     backupCmd     `cmd:"" group:"keep" help:"Copy a SQLite database while it is in use."`
	Doctor     doctorCmd     `cmd:"" group:"keep" help:"Check this set-up, and suggest fixes."`
	Completion completionCmd `cmd:"" group:"keep" help:"Print the completion script of a shell."`
	Health     healthCmd     `cmd:"" group:"keep" help:"Tell whether the server or worker beside it is ready."`
	Help       helpCmd       `cmd:"" group:"keep" help:"Show the help of a command."`
	Version    versionCmd    `cmd:"" group:"keep" help:"Show version, commit and Go version, as --version does."`
}

// description is the help of the whole.
const description = `Storefront serves the API of online stores and operates it.

Every flag can also be set in the environment as STOREFRONT_<FLAG>, in upper case with _ for -, and in a YAML file named with --config, whose keys are the names of flags. A flag wins over the environment, the environment over the file.

In the folder of storefront dev and below, commands that are given no database or server use those of dev; server, worker and migrate do not.

Exit status: 0 on success, 1 when something was refused or failed, 2 when the command line is wrong.

Example:

    storefront dev
    storefront key create --store demo --name crm --scopes customers:read --expires 90d -o json`

// BeforeResolve reads the settings file, once it is known which one it is.
func (c *cli) BeforeResolve(k *kong.Context, s *settings) error {
	return s.load(k)
}

// newParser returns the parser of the command line, whose help and defaults may name ${events} and
// ${retryDelays}.
func newParser(c *cli, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(c, append(options, kong.Vars{
		"events":      strings.Join(hook.EventTypes(), ", "),
		"retryDelays": delays{worker.DefaultRetryDelays()}.String(),
	})...)
	if err != nil {
		return nil, err
	}
	return parser, addHelp(parser.Model.Node)
}

// groups are those of the commands in the help of the whole.
var groups = []kong.Group{
	{Key: "run", Title: "Run the service:"}, {Key: "sell", Title: "Stores and what they sell:"},
	{Key: "connect", Title: "Keys, webhooks and events:"}, {Key: "keep", Title: "Install, check and keep:"},
}

// namesIn are the flags and arguments by which a command line names what it is about.
func namesIn(k *kong.Context) map[string]string {
	names := map[string]string{}
	for _, step := range k.Path {
		switch {
		case step.Flag != nil && step.Flag.Name == "store":
			names["store"], _ = k.FlagValue(step.Flag).(string)
		case step.Positional != nil && step.Positional.Target.Kind() == reflect.String:
			names[step.Positional.Name] = step.Positional.Target.String()
		}
	}
	return names
}

// isList reports whether a command prints a list, as all do that are called so and those that print migrations.
func isList(n *kong.Node) bool { return n != nil && (n.Name == "list" || n.Parent.Name == "migrate") }

// run carries out one command line and returns the exit status: 0, 1 when a well-formed command
// was refused or failed, 2 when the command line is wrong. Results go to out; errors, logs and
// progress to errs. It serves until the context ends when the command is one that serves.
func run(ctx context.Context, args []string, env func(string) (string, bool), in io.Reader, out, errs io.Writer) int {
	var c cli
	exited := false
	s := &settings{env: env}
	parser, err := newParser(&c,
		kong.Name("storefront"), kong.Description(description), kong.Writers(out, errs),
		kong.Exit(func(int) { exited = true }), kong.Resolvers(s), kong.Bind(s),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}), kong.ValueFormatter(describe),
		kong.KindMapper(reflect.String, words{}),
		kong.ExplicitGroups(groups),
	)
	if err != nil {
		return complain(errs, fmt.Errorf("read the command line's grammar: %w", err), "")
	}
	if complete(parser, env) {
		return 0
	}
	k, err := parser.Parse(meant(args))
	switch {
	case exited: // after --help
		return 0
	case err != nil:
		return complain(errs, misread(err), "")
	}
	given, err := explicit(k)
	if err != nil {
		return complain(errs, err, "")
	}
	name, _, _ := strings.Cut(k.Command(), " <") // arguments
	work := &session{
		ctx: ctx, in: in, out: out, errs: errs, json: c.Output == "json", csv: c.Output == "csv", command: name, env: env,
		given: given, changeable: changeable(k.Selected()), terminal: terminalOf(out, env), names: namesIn(k),
	}
	if work.csv && !isList(k.Selected()) {
		return complain(errs, usage("-o csv is for lists; `%s` prints text or json", k.Selected().FullPath()), "")
	}
	work.dev = work.inDev(k, s.dev)
	return complain(errs, k.Run(work), k.Command())
}
