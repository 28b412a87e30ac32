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

// start runs the process's command line. The first signal ends it in good order, a second one at once.
func start() int {
	// Discard it, because net/http prints here, without limit, bytes that a receiver of webhooks sends unasked. This program
	// logs through loggers of its own.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
}
