// Command cpar assigns keywords to photos with the help of a cloud that must
// not see them. It runs on the owner's device and holds the key. Command cpard
// is the cloud.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/manpage"
	"cpar/internal/stdout"
	"cpar/internal/version"
)

const long = `cpar gives your photos keywords with the help of a cloud that must not see them.

You encrypt a collection of photos that already have keywords, once. For each new
photo, cpar sends an encrypted request. The cloud finds the nearest encrypted photos
and returns their encrypted keywords, which cpar decrypts and ranks. The cloud
(cpard) holds no key.

A session:

  $ cpar init
  $ cpar build photos/ --out family.index
  $ cpard serve --data ~/cpar-cloud --listen 127.0.0.1:8080 &
  $ cpar push family.index --cloud http://127.0.0.1:8080
  $ cpar annotate new/beach.jpg --cloud http://127.0.0.1:8080
  new/beach.jpg
    sea    81 %
    beach  74 %
    sky    31 %

This default scheme, sealed, hides photos, keywords, requests and distances from the
cloud. Photos can be added and removed later (cpar add, cpar remove).

To find the best way to compare your photos, from colours and textures to an image
network of your choice: cpar model list, and cpar tune photos/

Without photos of your own: cpar demo

`

// commands returns all commands, in the order of the help.
func commands() []*cobra.Command {
	return []*cobra.Command{
		initCommand(),
		modelCommand(),
		tuneCommand(),
		buildCommand(),
		pushCommand(),
		annotateCommand(),
		searchCommand(),
		watchCommand(),
		undoCommand(),
		runsCommand(),
		uiCommand(),
		addCommand(),
		removeCommand(),
		compactCommand(),
		renameCommand(),
		vocabularyCommand(),
		listCommand(),
		deleteCommand(),
		cacheCommand(),
		keyCommand(),
		configCommand(),
		cardCommand(),
		doctorCommand(),
		uninstallCommand(),
		datasetCommand(),
		inspectCommand(),
		featuresCommand(),
		visionCommand(),
		albumCommand(),
		immichCommand(),
		demoCommand(),
		cloudCommand(),
	}
}

func main() { os.Exit(run()) }

func run() int {
	// The first ^C asks the command to stop cleanly, and the second ends the
	// process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	out := stdout.New(os.Stdout)
	root := newRoot()
	root.SetOut(out)
	err := interrupted(ctx, root.ExecuteContext(ctx))
	if ctx.Err() != nil && term.IsTerminal(int(os.Stderr.Fd())) {
		fmt.Fprintln(os.Stderr) // end the line into which the terminal echoed ^C
	}
	return exitcode.Report(os.Stderr, "cpar", out.End(err))
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "cpar",
		Short:         "private keywords for photos",
		Long:          long + exitcode.Line(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		// A command that replaces this hook must call applySettings itself.
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := checkAll(c); err != nil {
				return err
			}
			return applySettings(c)
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.PersistentFlags().BoolP("verbose", "v", false, "name every file left out, with the reason")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError(c, err) })
	root.AddCommand(commands()...)
	addCheck(version.Add(root))
	manpage.Add(root, table.Text())
	addHelp(root)
	complete(root)
	return root
}

var errInterrupted = fmt.Errorf("%w; no file is half written", exitcode.ErrInterrupted)

// interrupted marks any error after ^C as an interruption.
func interrupted(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(err, context.Canceled):
		return errInterrupted
	}
	return fmt.Errorf("%w: %w", exitcode.ErrInterrupted, err)
}

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
