// Storefront is the service in one binary: the API, the database's schema, and the platform's operations on its stores.
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

// outliveReaders makes writes fail, which loggers ignore, when nobody reads the output any more. Commands that only print end
// there, as in a pipe.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }

func main() {
	os.Exit(start())
}

// start lets the first signal end the command in good order; a second one kills the process.
func start() int {
	// net/http prints to the standard logger, without limit, what a receiver of webhooks sends outside answers.
	log.SetOutput(io.Discard)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	switch {
	case signal.Ignored(syscall.SIGHUP): // by nohup
	case term.IsTerminal(int(os.Stdin.Fd())):
		ends = append(ends, syscall.SIGHUP) // the terminal is closed
	default:
		// SIGHUP asks a service to read its configuration again, and there is none to read.
		signal.Ignore(syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
}
