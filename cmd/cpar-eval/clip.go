package main

import (
	"github.com/spf13/cobra"

	"cpar/encoder/zeroshot"
	"cpar/eval/measure"
	"cpar/eval/quality"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/model/profile"
)

func clipCommand() *cobra.Command {
	var f flags
	var half, tokenizer string
	var dims []int
	c := &cobra.Command{
		Use:   "clip",
		Short: "measure the recall of texts by profile clip through scheme sealed",
		Long: `clip measures R@10, the share of texts with a right image among the ten nearest, through scheme sealed with
profile clip, and by a full-width float32 search in plaintext. Without --data it draws a synthetic pair of
images and texts, 512 wide. With --data, --model and --text-model it measures a real pair: the texts are
the keywords of the collection, and the right images of a keyword are the photos that have it.`,
		Example: `  $ cpar-eval clip --json
  $ cpar-eval clip --data corel5k --model visual/model.onnx --text-model textual/model.onnx`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report := bar.On(cmd.ErrOrStderr())
			pair := quality.MadePair
			if f.data != "" || half != "" {
				if f.data == "" || half == "" || f.model == "" {
					return hint.Add(exitcode.UsageError(errNoPair), "pass --data, --model and --text-model, or none of them")
				}
				p, err := f.plan(cmd)
				if err != nil {
					return err
				}
				defer p.Lab.Close()
				text, err := zeroshot.Open(half, tokenizer)
				if err != nil {
					return err
				}
				defer text.Close()
				corpus, err := p.Lab.ReadCorpus(cmd.Context())
				if err != nil {
					return err
				}
				real, err := quality.RealPair(f.data, corpus.Train, func(words []string) ([][]float32, error) {
					return zeroshot.Vectors(cmd.Context(), words, text, nil, report)
				})
				if err != nil {
					return err
				}
				pair = func() *quality.ClipPair { return real }
			}
			result, err := quality.MeasureClip(cmd.Context(), pair(), dims, report)
			switch {
			case err != nil:
				return err
			case f.asJSON:
				return printJSON(cmd.OutOrStdout(), result)
			}
			return measure.PrintTables(cmd.OutOrStdout(), result.Tables())
		},
	}
	f.add(c, "", measure.NeedsModel)
	for _, name := range []string{"out", "any-build", "draw"} { // no step is kept
		_ = c.Flags().MarkHidden(name)
	}
	c.Flags().Lookup("data").Usage = "`folder` of a collection, for a real pair"
	c.Flags().StringVar(&half, "text-model", "", "text half of --model, an ONNX `file`")
	c.Flags().StringVar(&tokenizer, "tokenizer", "", "tokenizer of the text half, a `file` or folder (default: the one beside it)")
	c.Flags().IntSliceVar(&dims, "dims", profile.ClipDims[:2], "dimensions of profile clip")
	return c
}
