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
)

func main() {
	os.Exit(start())
}

// start runs the command line of this process. The first signal lets the command end in good order; a second signal kills
// the process.
func start() int {
	// A receiver of webhooks may send bytes that belong to no answer. net/http prints them to the standard logger, without
	// limit, so this logger's output is discarded. The commands have loggers of their own.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
}
