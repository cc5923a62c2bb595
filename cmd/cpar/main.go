// Command cpar gives photos keywords with the help of a cloud that must not
// see them. It is the owner's side: it holds the key. The cloud's side is
// command cpard.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

const long = `cpar gives your photos keywords with the help of a cloud that must not see them.

You encrypt a collection of photos that already have keywords, once. Later, for
a new photo, cpar sends an encrypted request; the cloud finds the nearest
encrypted photos and returns their encrypted keywords; cpar decrypts and ranks
them. The cloud (cpard) holds no key.

A session:

  $ cpar init --key family.key
  $ cpar build photos/ --key family.key --out family.index
  $ cpard serve --data ~/cpar-cloud --listen 127.0.0.1:8080 &
  $ cpar push family.index --cloud http://127.0.0.1:8080
  $ cpar annotate new/beach.jpg --key family.key --cloud http://127.0.0.1:8080
  new/beach.jpg
    sea    81 %
    beach  74 %
    sky    31 %

Photos can be added and removed later (cpar add, cpar remove).

What suits your photos best, from colours and textures to an image network of your
choice: cpar tune photos/

Without photos of your own: cpar demo

Exit codes: 0 done, 1 another failure, 2 usage, 3 unusable input, 4 wrong key,
5 damaged data, 6 unknown format version, 7 cloud failure, 8 storage failure.`

func main() { os.Exit(run()) }

func run() int {
	// The first ^C asks the command to stop cleanly, a second one ends it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	root := &cobra.Command{
		Use:           "cpar",
		Short:         "private keywords for photos",
		Long:          long,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError(c, err) })
	root.AddCommand(initCommand(), tuneCommand(), buildCommand(), pushCommand(), annotateCommand(),
		addCommand(), removeCommand(), compactCommand(), keyCommand(), cardCommand(), inspectCommand(), featuresCommand(), demoCommand(), cloudCommand())
	err := root.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errInterrupted
	}
	return exitcode.Report(os.Stderr, "cpar", err)
}

var errInterrupted = errors.New("interrupted; nothing was left half done")

// knownCommand makes of a word that is no command a usage error.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("there is no command %q", args[0])
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return hint.Add(exitcode.UsageError(err), "did you mean: cpar %s", near[0])
	}
	return usageError(c, err)
}
