package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cmd/cpar/internal/demo"
)

// demoCloudGrace is the time that running requests have to finish when the
// server stops.
const demoCloudGrace = 10 * time.Second

// cloudCommand serves the demo's cloud in a separate process, which package
// demo starts. No other file of cpar may link the cloud
// (internal/testing/policy). The file avoids package daemon, which would bring
// object storage, message brokers and metrics into the owner's program.
func cloudCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:    demo.CloudCommand,
		Short:  "run the demo's cloud",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Ignore ^C, which a terminal sends to both processes. The demo
			// first cleans up, and then stops this process by closing its
			// standard input.
			signal.Ignore(os.Interrupt)
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelDebug}))
			c, err := cloud.New(data, store.Options{Log: log})
			if err != nil {
				return err
			}
			defer c.Close()
			handler, err := api.New(c, c, api.Options{Log: log})
			if err != nil {
				return err
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return fmt.Errorf("listening on loopback: %w", err)
			}
			server := &http.Server{Handler: handler, ReadHeaderTimeout: demoCloudGrace, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
			go server.Serve(listener)
			fmt.Fprintf(cmd.OutOrStdout(), "listening on http://%v\n", listener.Addr())
			io.Copy(io.Discard, cmd.InOrStdin())
			grace, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), demoCloudGrace)
			defer cancel()
			return server.Shutdown(grace)
		},
	}
	c.Flags().StringVar(&data, "data", "", "the cloud's `folder`")
	return c
}
