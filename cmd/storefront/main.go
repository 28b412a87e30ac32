// Storefront runs the service and operates it: one binary for the API, the database's schema, and
// what the platform does to its stores.
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

// start runs the command line of the process, and ends it in good order on the first signal. A
// second signal ends it at once.
func start() int {
	// What this program logs has loggers of its own. net/http prints here, unbounded, what a receiver of
	// webhooks sends without being asked.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
}
