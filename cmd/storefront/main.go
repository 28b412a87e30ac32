// Storefront runs and operates the service: one binary for the API, the database's schema, and the platform's operations on its
// stores.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// outliveReaders lets this process go on when nobody reads its log or its output any more. Writes to them fail then, which
// loggers ignore. Commands that only print end there, as others do in a pipe.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }

func main() {
	os.Exit(start())
}

// start runs the command line of this process. The first signal lets the command end in good order; a second signal kills
// the process.
func start() int {
	// A receiver of webhooks may send bytes that belong to no answer. net/http prints them to the standard logger, without
	// limit, so this logger's output is discarded. The commands have loggers of their own.
	log.SetOutput(io.Discard)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	switch {
	case signal.Ignored(syscall.SIGHUP): // by nohup
	case term.IsTerminal(int(os.Stdin.Fd())):
		ends = append(ends, syscall.SIGHUP) // the terminal is closed
	default:
		// Of a service that runs without a terminal, SIGHUP asks to read its configuration again, and there is none to read.
		signal.Ignore(syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
}
