// Command cpar-eval measures CPAR on an annotated collection, the way the
// paper does. It runs both sides in one process.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/eval"
	"cpar/internal/exitcode"
	"cpar/internal/progress"
	"cpar/user"
)

const long = `cpar-eval measures CPAR on an annotated collection.

  $ cpar-eval agreement --data corel5k      encrypted search against its plaintext twin
  $ cpar-eval corel5k   --data corel5k      P, R, N+ of annotation

A collection is what cpar build takes. Its split.csv (path,split) says which
images are indexed (train) and which are asked (test); without one a tenth is
held out. Features are cached beside the results, never in the collection.

Exit codes are those of cpar.`

type flags struct {
	data, cache string
	asJSON      bool
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	root := &cobra.Command{Use: "cpar-eval", Short: "measure CPAR on an annotated collection", Long: long,
		SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitcode.UsageError(err) })
	root.AddCommand(agreementCommand(), corel5kCommand())
	return exitcode.Report(os.Stderr, "cpar-eval", root.ExecuteContext(ctx))
}

func (f *flags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.data, "data", "", "`folder` of the collection (required)")
	c.Flags().StringVar(&f.cache, "cache", filepath.Join("results", "features"), "`folder` that keeps features between runs; empty for none")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON instead of text")
	c.Args = func(c *cobra.Command, args []string) error { return exitcode.UsageError(cobra.NoArgs(c, args)) }
}

// measure loads the collection, builds an index of it and measures.
func measure[T any](cmd *cobra.Command, f *flags, how func(context.Context, *eval.Session, *eval.Corpus, user.Progress) (T, error), human func(io.Writer, T)) error {
	if f.data == "" {
		return fmt.Errorf("%w: pass --data FOLDER", cpar.ErrInput)
	}
	ctx, report := cmd.Context(), progress.Bar(cmd.ErrOrStderr())
	c, err := eval.LoadCorpus(ctx, f.data, f.cache, report)
	if err != nil {
		return err
	}
	s, err := eval.NewSession(ctx, c, user.Options{Progress: report})
	if err != nil {
		return err
	}
	defer s.Close()
	result, err := how(ctx, s, c, report)
	if err != nil {
		return err
	}
	if !f.asJSON {
		human(cmd.OutOrStdout(), result)
		return nil
	}
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetIndent("", "  ")
	return enc.Encode(result)
}

func agreementCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "agreement",
		Short: "hold the encrypted search against its plaintext twin",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd, &f, func(ctx context.Context, s *eval.Session, _ *eval.Corpus, p user.Progress) (*eval.Agreement, error) {
				return eval.MeasureAgreement(ctx, s, p)
			}, func(w io.Writer, a *eval.Agreement) { a.Print(w) })
		},
	}
	f.add(c)
	return c
}

func corel5kCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "corel5k",
		Short: "measure annotation quality by the standard protocol",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return measure(cmd, &f, eval.MeasureCorel5k, func(w io.Writer, r *eval.Corel5k) { r.Print(w) })
		},
	}
	f.add(c)
	return c
}
