// Command cpar-eval measures CPAR on an annotated collection, as the paper
// does.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cpar/eval/report"
	"cpar/internal/exitcode"
	"cpar/internal/stdout"
	"cpar/internal/version"
)

const long = `cpar-eval measures CPAR on an annotated collection, as the paper does.

  $ cpar-eval all --data corel5k --out results/    measure everything and write a report
  $ cpar-eval results                              write docs/results.md from eval/results
  $ cpar-eval load --data corel5k                  load a real cpard with many clients
  $ cpar-eval memory --data corel5k                measure the memory of cpar and cpard
  $ cpar-eval security                             compute bits, failure rates and bytes of scheme sealed
  $ cpar-eval plan --records 100000 --qps 10       plan the machines of a cluster
  $ cpar-eval fleet                                simulate a cluster with failures

The other commands run one measurement each. speedup, recall and tradeoff are three
views of one run over all test requests.

A collection is a folder as for cpar build. Its split.csv (path,split) names the images
to index (train) and the test images (test). Without split.csv a tenth is held out. This
also applies to the paper's data set (IAPR TC-12 with labels of SAIAPR TC-12), because the
50 images that the paper requested are unknown. Features are kept between runs
(--cache). With --out results are kept too, so an interrupted run continues where it
stopped.

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

// execute runs a command. If ctx ended, it reports an interruption instead of a
// failed step.
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
	root.AddCommand(allCommand(), resultsCommand(), loadCommand(), memoryCommand(), searchCommand(), clipCommand(), securityCommand(), planCommand(), simulateCommand())
	for _, m := range report.Measurements() {
		if m.Custom { // its command has a file of its own
			continue
		}
		for _, v := range m.Commands() {
			root.AddCommand(measureCommand(m, v))
		}
	}
	version.Add(root)
	return root
}
