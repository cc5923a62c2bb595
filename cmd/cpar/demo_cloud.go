package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"cpar/cloud/daemon"
	"cpar/cmd/cpar/internal/demo"
)

// cloudCommand is the cloud of the demonstration: a process of its own, which
// package demo starts. This is the one file of the owner's program that links
// the cloud; see wall_test.go.
func cloudCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:    demo.CloudCommand,
		Short:  "the demo's cloud, a process of its own",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// ^C in a terminal goes to both processes. The owner's ends this
			// one when it has cleaned up, by closing its standard input.
			signal.Ignore(os.Interrupt)
			ctx, stop := context.WithCancel(cmd.Context())
			go func() {
				io.Copy(io.Discard, cmd.InOrStdin())
				stop()
			}()
			return daemon.Run(ctx, daemon.Options{
				Data:   data,
				Listen: "127.0.0.1:0",
				Log:    slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelDebug})),
				Ready:  func(url string) { fmt.Fprintln(cmd.OutOrStdout(), "listening on", url) },
			})
		},
	}
	c.Flags().StringVar(&data, "data", "", "the cloud's `folder`")
	return c
}
