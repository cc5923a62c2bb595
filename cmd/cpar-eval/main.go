// Command cpar-eval measures CPAR on an annotated collection, as the paper does. It runs
// both sides in one process.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cpar/internal/exitcode"
	"cpar/internal/stdout"
	"cpar/internal/version"
)

const long = `cpar-eval measures CPAR on an annotated collection, as the paper does.

  $ cpar-eval all --data corel5k --out results/    everything, and a report of it
  $ cpar-eval report --data corel5k --out results/ the report again, measuring nothing
  $ cpar-eval results                              docs/results.md, from eval/results
  $ cpar-eval load --data corel5k                  a real cpard that many clients ask at once
  $ cpar-eval security                             bits, failure and bytes of scheme sealed, computed
  $ cpar-eval plan --records 100000 --qps 10       how many machines a cloud takes
  $ cpar-eval fleet                                hundreds of machines and what goes wrong, simulated

or one thing at a time, by the commands below. speedup, recall and tradeoff are three
views of one run over all test requests, with untouched images.

A collection is what cpar build takes. Its split.csv (path,split) says which
images are indexed (train) and which are test images (test); without one a tenth
is held out. So it is of the paper's data set (IAPR TC-12 with the labels of SAIAPR
TC-12): the 50 images that the paper asked for are not known. Features are kept
between runs (--cache), and with --out so are results: an interrupted run continues
where it stopped.

`

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	out := stdout.New(os.Stdout)
	root := rootCommand()
	root.SetOut(out)
	return exitcode.Report(os.Stderr, "cpar-eval", out.End(execute(ctx, root)))
}

// execute runs a command. It reports the end of ctx as an interruption, not as a failure
// of the running step.
func execute(ctx context.Context, root *cobra.Command) error {
	err := root.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return exitcode.ErrInterrupted
	}
	return err
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{Use: "cpar-eval", Short: "measure CPAR on an annotated collection", Long: long + exitcode.Line(),
		SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitcode.UsageError(err) })
	root.AddCommand(allCommand(), reportCommand(), resultsCommand(), loadCommand(), securityCommand(), planCommand(), simulateCommand())
	root.AddCommand(measureCommands()...)
	version.Add(root)
	return root
}
