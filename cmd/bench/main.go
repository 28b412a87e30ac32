// Bench measures the service against yardsticks that do the same work in the same minutes. What
// counts is the ratio of the two, taken round by round; the absolute figures are those of the
// machine. Whatever it measures runs in processes of its own on loopback addresses, over a database
// that it makes and removes. It sees nothing of the network and, beyond a warm page cache, nothing
// of a disk.
//
//	bench api --database-url postgres://postgres@127.0.0.1:5432/postgres
//
// measures the public API against handlers of the same operations written by hand, and asks both in
// turns through kept-alive connections. It refuses to go on when the two do not answer alike, and
// fails on the first answer that is not a success.
//
//	bench lists --database-url postgres://postgres@127.0.0.1:5432/postgres
//
// measures lists in stores of several sizes: what a page costs must not depend on them.
//
//	bench webhooks --database-url postgres://postgres@127.0.0.1:5432/postgres
//
// measures the way from a commit to the verified delivery of its event, beside a loop that signs and
// posts the same events and stores nothing. It fails unless every event arrived once.
//
//	bench chaos --rounds 50
//
// measures nothing: it kills the service's processes under load, lets the database crash, and
// accounts for every event. With --scene it plays named faults instead, one after the other.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// The exit codes of the service's own commands: what was asked for failed, or was asked wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

type commands struct {
	API      apiCommand      `cmd:"" default:"withargs" name:"api" help:"Measure the public API against the yardstick (the default)."`
	Lists    listsCommand    `cmd:"" help:"Measure lists of orders in stores of several sizes."`
	Webhooks webhooksCommand `cmd:"" help:"Measure the way from a commit to the delivery of its event."`
	Chaos    chaosCommand    `cmd:"" help:"Kill processes under load and account for every event."`
	Subject  subjectCommand  `cmd:"" hidden:"" help:"Serve one of the two sides; started by api."`
	Post     postCommand     `cmd:"" hidden:"" help:"Post events and store nothing; started by webhooks."`
	Checkout checkoutCommand `cmd:"" hidden:"" help:"Record and pay orders until it is killed; started by chaos."`
	Work     workCommand     `cmd:"" hidden:"" help:"Deliver by another clock until standard input ends; started by chaos."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run parses the arguments, runs the command and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) int {
	var c commands
	parser, err := kong.New(&c, kong.Name("bench"), kong.Writers(out, stderr),
		kong.Description("Measures the service against code written by hand, and breaks it."),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	if err := command.Run(streams{in, out, stderr}); err != nil {
		if ctx.Err() != nil { // whatever broke because of it
			err = errors.New("interrupted")
		}
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return exitFailed
	}
	return 0
}
