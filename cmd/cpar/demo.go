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

func demoCommand() *cobra.Command {
	var o demo.Options
	var page, poster, cache string
	var model modelFlags
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "show the whole of cpar, with pictures of its own or yours",
		Long: `demo shows everything once and needs nothing: it paints 360 pictures that have
keywords, makes a key, encrypts the pictures into an index of the default scheme,
starts a cloud as a process of its own without the key, and gives keywords to 8 new
pictures over HTTP: those that are sure and those that are maybe right. Then it shows
the other schemes beside the default one, what the paper's cost beside its own
figures, and what the cloud saw. The same is written as one page for a browser.

It takes fifteen to twenty-five seconds. Temporary files are removed and the cloud is ended,
also on ^C. Nothing leaves this machine.

With --data it does the same with a part of a collection of yours (--photos), and
compares profiles: what is looked at in a photo. It finds keywords for up to 80
photos that are not in the index: some of those that split.csv calls test, or else
of a tenth that is held out. Two profiles are compared: the paper's colours and
textures, and a projection learnt from your keywords. --model adds an image network
as the third. The rest is shown with the one that finds most. With a thousand photos
that takes one to two minutes.`,
		Example: `  $ cpar demo
  $ cpar demo --data photos/ --out photos.html
  $ cpar demo --data photos/ --model mobilenetv2-12.onnx
  $ cpar demo --keep demo/ && cpar inspect demo/paper`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Keywords < 1 {
				return fmt.Errorf("%w: --keywords %d", cpar.ErrInput, o.Keywords)
			}
			if o.Photos < 1 {
				return fmt.Errorf("%w: --photos %d; 1 is the least", cpar.ErrInput, o.Photos)
			}
			if o.Data == "" {
				for _, name := range append(encoderflags.Names(), "model", "photos") {
					if cmd.Flags().Changed(name) {
						return hint.Add(exitcode.UsageError(fmt.Errorf("--%s goes with a collection of photos, and none was named", name)), "pass --data FOLDER")
					}
				}
				model.path = "" // $CPAR_MODEL is for photos
			}
			if err := model.Check(); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if dryRun {
				return output(cmd, asJSON, map[string]any{"page": page, "data": o.Data, "keep": o.Keep, "dry_run": true}, func() {
					what := "paint pictures"
					if o.Data != "" {
						what = "read " + o.Data
					}
					fmt.Fprintf(out, "would %s, encrypt them, start a cloud on loopback, annotate new pictures and write %s; nothing was done\n", what, page)
				})
			}
			if o.Data != "" && cache != "" {
				var err error
				if o.Cache, err = feature.OpenCache(cache); err != nil {
					return hint.Add(err, "pass --cache FOLDER, or --cache= for none")
				}
			}
			if model.path != "" {
				var err error
				if o.Network, err = model.open(unlessJSON(cmd, asJSON)); err != nil {
					return err
				}
			}
			o.Progress = bar.On(cmd.ErrOrStderr())
			if !asJSON {
				fmt.Fprintf(out, "cpar demo: a collection is encrypted, and a cloud that cannot read it finds keywords for new pictures\n\n")
				o.Step = func(what string, took time.Duration) {
					fmt.Fprintf(out, "  %-60s %9s\n", what, demo.Duration(float64(took.Microseconds())/1000))
				}
			}
			r, err := demo.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			if r.Page, err = filepath.Abs(page); err != nil {
				r.Page = page
			}
			if err := r.WritePage(page); err != nil {
				return err
			}
			if poster != "" {
				if err := r.WritePoster(poster); err != nil {
					return err
				}
			}
			return output(cmd, asJSON, r, func() {
				r.Print(out)
				if r.Kept != "" {
					fmt.Fprintf(out, "\nKept in %s: key, index, the cloud's folder and its log.\n", r.Kept)
				}
				fmt.Fprintf(out, "\nThe same with pictures, for a browser: %s\n", r.Page)
			})
		},
	}
	c.Flags().StringVar(&o.Data, "data", "", "use the annotated collection in this `folder`")
	c.Flags().IntVar(&o.Photos, "photos", demo.DefaultPhotos, "index at most so many photos of --data, taken from all over it")
	model.add(c)
	c.Flags().StringVar(&page, "out", "cpar-demo.html", "write the page to this `file`")
	c.Flags().StringVar(&poster, "picture", "", "also draw four of the pictures, as you and the cloud see them, into this PNG `file`")
	c.Flags().StringVar(&o.Keep, "keep", "", "keep key, index, the cloud's data and log in this `folder`")
	c.Flags().IntVar(&o.Keywords, "keywords", demo.Likely, "keywords for each picture, at most")
	c.Flags().StringVar(&cache, "cache", "", "keep the features of --data between runs in this `folder`, in the clear")
	dryRunFlag(c, &dryRun)
	jsonFlag(c, &asJSON)
	return c
}
