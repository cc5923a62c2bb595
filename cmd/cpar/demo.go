package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cmd/cpar/internal/demo"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/model/feature"
)

type demoFlags struct {
	demo.Options
	model          modelFlags
	page, cache    string
	dryRun, asJSON bool
}

func demoCommand() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "show all of cpar, with painted photos or your own",
		Long: `demo shows everything once and needs no preparation: it paints 360 photos with
keywords, makes a key, encrypts the photos into an index of the default scheme, starts a
server as a separate process without the key, and finds keywords for 12 new photos over
HTTP, some likely and some uncertain. It shows the server's view, and writes the results
as a page for a browser.

Photos are compared as in cpar build: by the image network inside cpar, another one that
--model names, or without a network (--model none) by colours and textures.

It takes about twenty seconds. At the end, or on ^C, it removes its temporary files and
stops the server. Nothing leaves this machine.

With --data it uses a part of your collection (--photos). The new photos are then chosen
from those marked as test in split.csv, otherwise from a tenth that it holds out. With a
thousand photos this takes about a minute.`,
		Example: `  $ cpar demo
  $ cpar demo --data photos/ --out photos.html
  $ cpar demo --data photos/ --model mobilenetv2-12.onnx
  $ cpar demo --keep demo/ && cpar inspect demo/index`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if f.dryRun {
				return f.wouldRun(cmd)
			}
			return f.run(cmd)
		},
	}
	c.Flags().StringVar(&f.Data, "data", "", "use the annotated collection in this `folder`")
	c.Flags().IntVar(&f.Photos, "photos", demo.DefaultPhotos, "index at most this many photos, evenly chosen")
	f.model.add(c)
	c.Flags().StringVar(&f.page, "out", "cpar-demo.html", "write the page to this `file`")
	c.Flags().StringVar(&f.Keep, "keep", "", "keep key, index, the server's data and log in this `folder`")
	c.Flags().IntVar(&f.Keywords, "keywords", demo.Likely, "maximum number of keywords per photo")
	c.Flags().StringVar(&f.cache, "cache", "", "keep features between runs in this `folder`, unencrypted")
	return writerFlags(c, &f.dryRun, &f.asJSON)
}

func (f *demoFlags) check() error {
	if f.Keywords < 1 {
		return fmt.Errorf("%w: --keywords %d", cpar.ErrInput, f.Keywords)
	}
	if f.Photos < 1 {
		return fmt.Errorf("%w: --photos %d: it must be at least 1", cpar.ErrInput, f.Photos)
	}
	err := f.model.Check()
	f.model.orBundled()
	return err
}

func (f *demoFlags) wouldRun(cmd *cobra.Command) error {
	return output(cmd, f.asJSON, map[string]any{"page": f.page, "data": f.Data, "keep": f.Keep, "dry_run": true}, func() {
		what := "paint photos"
		if f.Data != "" {
			what = "read " + f.Data
		}
		fmt.Fprintf(cmd.OutOrStdout(), "would %s, encrypt them, start a server on loopback, annotate new photos and write %s; nothing was done\n", what, f.page)
	})
}

func (f *demoFlags) run(cmd *cobra.Command) (err error) {
	out := cmd.OutOrStdout()
	if f.cache != "" {
		if f.Cache, err = feature.OpenCache(f.cache); err != nil {
			return hint.Add(err, "pass --cache FOLDER, or --cache= for none")
		}
	}
	if f.model.path != "" {
		if f.Network, err = f.model.open(nil); err != nil {
			return err
		}
	}
	f.Progress = bar.On(cmd.ErrOrStderr())
	if !f.asJSON {
		fmt.Fprintf(out, "cpar demo: a server that cannot read an encrypted collection finds keywords for new photos\n\n")
		f.Step = func(what string, took time.Duration) {
			fmt.Fprintf(out, "  %-60s %9s\n", what, demo.Duration(float64(took.Microseconds())/1000))
		}
	}
	r, err := demo.Run(cmd.Context(), f.Options)
	if err != nil {
		return err
	}
	if r.Page, err = filepath.Abs(f.page); err != nil {
		r.Page = f.page
	}
	if err := r.WritePage(f.page); err != nil {
		return err
	}
	return output(cmd, f.asJSON, r, func() {
		r.Print(out)
		if r.Kept != "" {
			fmt.Fprintf(out, "\nKept in %s: key, index, the server's folder and its log.\n", r.Kept)
		}
		fmt.Fprintf(out, "\nThe same with photos, for a browser: %s\n", r.Page)
	})
}
