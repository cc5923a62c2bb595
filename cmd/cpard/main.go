// Command cpard is a cloud for cpar: it keeps encrypted image indexes and
// answers encrypted requests. It has no key and no use for one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"cpar/internal/exitcode"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return exitcode.Report(os.Stderr, "cpard", newRoot().ExecuteContext(ctx))
}
