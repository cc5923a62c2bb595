package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/eval/load"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
)

func loadCommand() *cobra.Command {
	var docs, soak string
	var schemes []string
	var seconds float64
	o := load.Options{}
	c := resultCommand(&cobra.Command{
		Use:   "load",
		Short: "measure a real cpard under the load of many clients",
		Long: `load starts cpard as a separate process on loopback, pushes an index of each scheme
and size to it, and sends requests over many connections at once, one request at a
time on each. Every reply is compared with the reply to the same request when it was
sent alone.

A row shows the rate of correct replies, the median and the 99th percentile of their
times, errors, requests that were shed (refused with 503 or 429, after which the
client waits for the time that the reply states) and the peak anonymous memory of
cpard. Three more tables show the throughput of many clients of capia, which share scans,
how long one client of a tenant waits beside many clients of another, and the memory
and response time of cpard under attack.

Records beyond the collection's photos (--photos) are mixed from their features, which
leaves the server's work unchanged.

With --json it prints only the rows, each takes 6 seconds instead of 20, and 1,000 photos
are read instead of 4,500, so that a run takes less than five minutes. If a reply was
wrong, the command fails after it has printed all rows.`,
		Example: `  $ cpar-eval load --data corel5k --json
  $ cpar-eval load --data corel5k --schemes capia --clients 1,64 --seconds 3`,
	}, func(cmd *cobra.Command, asJSON bool) (*load.Load, error) {
		if o.Data == "" {
			return nil, hint.Add(exitcode.UsageError(errors.New("no collection was named")), "pass --data FOLDER")
		}
		for _, name := range schemes {
			s, err := cpar.ParseScheme(name)
			if err != nil {
				return nil, err
			}
			o.Schemes = append(o.Schemes, s)
		}
		o.Length = time.Duration(seconds * float64(time.Second))
		if asJSON && !cmd.Flags().Changed("seconds") {
			o.Length = load.ShortLength
		}
		if asJSON && !cmd.Flags().Changed("photos") {
			o.Photos = load.ShortPhotos
		}
		o.Fair = o.Fair && !asJSON
		o.Done = func(r load.Row) { fmt.Fprintln(cmd.ErrOrStderr(), r) }
		o.Progress = bar.On(cmd.ErrOrStderr())
		result, err := load.Measure(cmd.Context(), o)
		if docs != "" && err == nil {
			err = result.WritePage(docs, soak, time.Now())
		}
		return result, err
	})
	var names []string
	for _, s := range load.DefaultSchemes {
		names = append(names, s.String())
	}
	c.Flags().StringVar(&o.Data, "data", "", "`folder` of the collection (required)")
	c.Flags().StringVar(&o.Cache, "cache", filepath.Join("results", "features"), "`folder` that keeps features between runs; empty for none")
	c.Flags().StringVar(&o.Cpard, "cpard", "", "the program to measure, a `file`; without it the go command builds it")
	c.Flags().IntSliceVar(&o.Records, "records", load.DefaultRecords, "sizes of the indexes")
	c.Flags().StringSliceVar(&schemes, "schemes", names, "schemes of the indexes")
	c.Flags().IntSliceVar(&o.Clients, "clients", load.DefaultClients, "numbers of clients")
	c.Flags().IntVar(&o.Photos, "photos", load.DefaultPhotos, "maximum number of indexed photos; further records are mixed from their features; 1,000 with --json")
	c.Flags().Float64Var(&seconds, "seconds", load.DefaultLength.Seconds(), "how long a row takes; 6 with --json")
	c.Flags().BoolVar(&o.Fair, "fair", true, "also measure one client of a tenant beside many of another, and attacks; not with --json")
	c.Flags().StringVar(&docs, "docs", "", "also write the page of this measurement to this `file`")
	c.Flags().StringVar(&soak, "soak", filepath.Join("eval", "results", "load", "soak.csv"), "figures of a soak for that page, a `file`; it may be missing")
	return c
}
