// Command cpard is the cloud of cpar. It stores encrypted image indexes and
// answers encrypted requests. It has no key.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"cpar/internal/exitcode"
	"cpar/internal/stdout"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := stdout.New(os.Stdout)
	root := newRoot()
	root.SetOut(out)
	return exitcode.Report(os.Stderr, "cpard", out.End(root.ExecuteContext(ctx)))
}
