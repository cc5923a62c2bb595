package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cmd/cpar/internal/demo"
	"cpar/cmd/internal/encoderflags"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/model/feature"
)

// demoFlags are the flags of cpar demo.
type demoFlags struct {
	demo.Options
	model               modelFlags
	page, poster, cache string
	dryRun, asJSON      bool
}

func demoCommand() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "show all of cpar, with painted images or your photos",
		Long: `demo shows everything once and needs no preparation: it paints 360 images with
keywords, makes a key, encrypts the images into an index of the default scheme, starts
a cloud as a separate process without the key, and gets keywords for 8 new images over
HTTP, some sure and some uncertain. Then it compares the other schemes with the default
one, its costs with the figures of the paper, and shows the cloud's view. It also writes
the results as a page for a browser.

It takes fifteen to twenty-five seconds. At the end, or on ^C, it removes its temporary
files and stops the cloud. Nothing leaves this machine.

With --data it uses a part of your collection (--photos) and compares profiles, which
determine how photos are compared. It finds keywords for up to 80 photos that are not in
the index: photos marked as test in split.csv, otherwise a tenth that it holds out. It
compares the paper's colours and textures with a projection learnt from your keywords and
with the image network inside cpar or the one that --model names. The rest of the demo
uses the profile that finds most. With a thousand photos this takes one to two minutes.`,
		Example: `  $ cpar demo
  $ cpar demo --data photos/ --out photos.html
  $ cpar demo --data photos/ --model mobilenetv2-12.onnx
  $ cpar demo --keep demo/ && cpar inspect demo/paper`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if f.dryRun {
				return f.wouldRun(cmd)
			}
			return f.run(cmd)
		},
	}
	c.Flags().StringVar(&f.Data, "data", "", "use the annotated collection in this `folder`")
	c.Flags().IntVar(&f.Photos, "photos", demo.DefaultPhotos, "index at most this many photos of --data, evenly chosen")
	f.model.add(c)
	c.Flags().StringVar(&f.page, "out", "cpar-demo.html", "write the page to this `file`")
	c.Flags().StringVar(&f.poster, "picture", "", "also draw four of the images, as you and the cloud see them, into this PNG `file`")
	c.Flags().StringVar(&f.Keep, "keep", "", "keep key, index, the cloud's data and log in this `folder`")
	c.Flags().IntVar(&f.Keywords, "keywords", demo.Likely, "maximum number of keywords per image")
	c.Flags().StringVar(&f.cache, "cache", "", "keep the features of --data between runs in this `folder`, in the clear")
	dryRunFlag(c, &f.dryRun)
	jsonFlag(c, &f.asJSON)
	return c
}

func (f *demoFlags) check(cmd *cobra.Command) error {
	if f.Keywords < 1 {
		return fmt.Errorf("%w: --keywords %d", cpar.ErrInput, f.Keywords)
	}
	if f.Photos < 1 {
		return fmt.Errorf("%w: --photos %d: it must be at least 1", cpar.ErrInput, f.Photos)
	}
	if f.Data == "" {
		for _, name := range append(encoderflags.Names(), "model", "photos") {
			if cmd.Flags().Changed(name) {
				return hint.Add(exitcode.UsageError(fmt.Errorf("--%s needs a collection of photos, and none was named", name)), "pass --data FOLDER")
			}
		}
		f.model.path = "" // $CPAR_MODEL is for photos
		return f.model.Check()
	}
	err := f.model.Check()
	f.model.orBundled()
	return err
}

func (f *demoFlags) wouldRun(cmd *cobra.Command) error {
	return output(cmd, f.asJSON, map[string]any{"page": f.page, "data": f.Data, "keep": f.Keep, "dry_run": true}, func() {
		what := "paint images"
		if f.Data != "" {
			what = "read " + f.Data
		}
		fmt.Fprintf(cmd.OutOrStdout(), "would %s, encrypt them, start a cloud on loopback, annotate new images and write %s; nothing was done\n", what, f.page)
	})
}

func (f *demoFlags) run(cmd *cobra.Command) (err error) {
	out := cmd.OutOrStdout()
	if f.Data != "" && f.cache != "" {
		if f.Cache, err = feature.OpenCache(f.cache); err != nil {
			return hint.Add(err, "pass --cache FOLDER, or --cache= for none")
		}
	}
	if f.model.path != "" {
		if f.Network, err = f.model.open(unlessJSON(cmd, f.asJSON)); err != nil {
			return err
		}
	}
	f.Progress = bar.On(cmd.ErrOrStderr())
	if !f.asJSON {
		fmt.Fprintf(out, "cpar demo: a cloud that cannot read an encrypted collection finds keywords for new images\n\n")
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
	if f.poster != "" {
		if err := r.WritePoster(f.poster); err != nil {
			return err
		}
	}
	return output(cmd, f.asJSON, r, func() {
		r.Print(out)
		if r.Kept != "" {
			fmt.Fprintf(out, "\nKept in %s: key, index, the cloud's folder and its log.\n", r.Kept)
		}
		fmt.Fprintf(out, "\nThe same with images, for a browser: %s\n", r.Page)
	})
}
