package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"cpar/cloud/daemon"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/internal/indexdir"
	"cpar/internal/version"
)

const session = `  $ cpard serve --data ~/cpar-cloud --listen 127.0.0.1:8080
  listening on http://127.0.0.1:8080

  $ cpard list --data ~/cpar-cloud
  INDEX                             SCHEME  RECORDS    BYTES
  9f6067c4caa7a19a9c8939024892e324  cpar    4500     67653394`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "cpard",
		Short: "keep encrypted image indexes and answer encrypted requests",
		Long: `cpard is the cloud of cpar. It keeps encrypted image indexes in a data folder
and answers encrypted requests. It holds no key and cannot read either.

It listens on loopback addresses only. Its HTTP interface describes itself at
/openapi.json.

` + exitcode.Line(exitcode.OK, exitcode.Other, exitcode.Usage, exitcode.Input, exitcode.Corrupt, exitcode.Version, exitcode.Storage),
		Example:       session,
		Args:          noArguments,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitcode.UsageError(err) })
	root.AddCommand(newServe(), newList())
	version.Add(root)
	return root
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exitcode.UsageError(fmt.Errorf("%s does not know what to do with %q", c.CommandPath(), args[0]))
	}
	return nil
}

func newServe() *cobra.Command {
	var o daemon.Options
	var level, memory string
	c := &cobra.Command{
		Use:   "serve --data DIR",
		Short: "serve a data folder until interrupted",
		Long: `serve opens a data folder, creates it if it does not exist, and answers on a
loopback address until it is interrupted. Running requests are finished.

With --memory huge the vectors and planes of an index are copied when it is first
searched, which takes as much memory as their files. auto does so where it pays,
for an index with a forest, if twice as much is free; otherwise the files are
mapped, and the system decides which parts stay in memory. An index of scheme
sealed is read from front to back, so auto keeps it mapped. At level info the log
says which was chosen.

The log goes to standard error. At level debug it has a line for each request:
method, route, index, status, bytes and duration; never the contents.`,
		Example: "  $ cpard serve --data ~/cpar-cloud --listen 127.0.0.1:8080\n  listening on http://127.0.0.1:8080",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needData(o.Data); err != nil {
				return err
			}
			log, err := newLog(c.ErrOrStderr(), level)
			if err != nil {
				return err
			}
			o.Log = log
			if o.Memory, err = indexdir.ParseMemory(memory); err != nil {
				return exitcode.UsageError(err)
			}
			if o.Workers < 0 {
				return exitcode.UsageError(fmt.Errorf("--workers %d; it must be at least 1, or 0 for the number of cores", o.Workers))
			}
			o.Ready = func(a net.Addr) { fmt.Fprintf(c.OutOrStdout(), "listening on http://%s\n", a) }
			return daemon.Run(c.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Data, "data", "", "data folder")
	c.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:8080", "loopback address and port; port 0 picks a free one")
	c.Flags().IntVar(&o.Workers, "workers", 0, "number of goroutines that share a scan, the lists or records that a request visits, or a batch of requests; 0 means the number of cores")
	c.Flags().StringVar(&memory, "memory", "auto", "where the vectors of a searched index are kept: map (the files), huge (a copy in pages of 2 MB), auto")
	c.Flags().StringVar(&level, "log-level", "warn", "debug, info, warn or error")
	return c
}

func needData(data string) error {
	if data == "" {
		return exitcode.UsageError(fmt.Errorf("which folder? pass --data DIR"))
	}
	return nil
}

func newLog(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, exitcode.UsageError(fmt.Errorf("no log level %q; there are debug, info, warn and error", level))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}

func newList() *cobra.Command {
	var data string
	var asJSON bool
	c := &cobra.Command{
		Use:     "list --data DIR",
		Short:   "list the indexes in a data folder",
		Long:    "list shows the indexes in a data folder, which may be in use by a server.",
		Example: "  $ cpard list --data ~/cpar-cloud\n  INDEX                             SCHEME  RECORDS    BYTES\n  9f6067c4caa7a19a9c8939024892e324  cpar    4500     67653394",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needData(data); err != nil {
				return err
			}
			list, err := store.List(data)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), list)
			}
			return printTable(c.OutOrStdout(), list)
		},
	}
	c.Flags().StringVar(&data, "data", "", "data folder")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, as the HTTP interface does")
	return c
}

func printJSON(w io.Writer, list []store.Info) error {
	out := cparhttp.IndexList{Indexes: []cparhttp.IndexInfo{}}
	for _, x := range list {
		info := cparhttp.IndexInfo{ID: x.ID, Scheme: x.Scheme.String(), Records: x.Records, Bytes: x.Bytes}
		if x.Err != nil {
			info.Scheme, info.Damaged = "", x.Err.Error()
		}
		out.Indexes = append(out.Indexes, info)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func printTable(w io.Writer, list []store.Info) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no indexes")
		return err
	}
	const row = "%-32v  %-6v  %-9v  %v\n"
	_, err := fmt.Fprintf(w, row, "INDEX", "SCHEME", "RECORDS", "BYTES")
	for _, x := range list {
		if x.Err != nil {
			_, err = fmt.Fprintf(w, "%v  damaged: %v\n", x.ID, x.Err)
		} else {
			_, err = fmt.Fprintf(w, row, x.ID, x.Scheme, x.Records, x.Bytes)
		}
	}
	return err
}
