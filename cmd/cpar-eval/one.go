package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cpar/eval"
)

// oneCommands are the subcommands that measure one thing.
func oneCommands() []*cobra.Command {
	return []*cobra.Command{
		one("agreement", "hold the encrypted search against its plaintext twin", 0, func(ctx context.Context, p *eval.Plan) (*eval.Agreement, error) {
			r, _, err := p.Agreement(ctx)
			return r, err
		}),
		one("attacks", "learn what SECURITY.md says that a cloud can learn", modelFlag, func(ctx context.Context, p *eval.Plan) (*eval.Attacks, error) {
			r, _, err := p.Attacks(ctx)
			return r, err
		}),
		one("corel5k", "measure annotation quality by the standard protocol", 0, func(ctx context.Context, p *eval.Plan) (eval.Corel5kBeside, error) {
			r, _, err := p.Corel5k(ctx)
			return r.WithPublished(), err
		}),
		one("alphagamma", "measure the L1 approximation against α and γ", 0, func(ctx context.Context, p *eval.Plan) (*eval.AlphaGamma, error) {
			r, _, err := p.AlphaGamma(ctx)
			return r, err
		}),
		one("pca", "measure what PCA costs in accuracy", 0, func(ctx context.Context, p *eval.Plan) (*eval.PCALoss, error) {
			r, _, err := p.PCA(ctx)
			return r, err
		}),
		one("structures", "measure what each structure and search of an index finds", 0, func(ctx context.Context, p *eval.Plan) (*eval.Structures, error) {
			r, _, err := p.Structures(ctx)
			return r, err
		}),
		one("sealed", "measure what schemes sealed and local find and cost", sizeFlag, func(ctx context.Context, p *eval.Plan) (*eval.Sealed, error) {
			r, _, err := p.Sealed(ctx)
			return r, err
		}),
		one("profiles", "lay the profiles side by side: what each finds and costs", sizeFlag|modelFlag, func(ctx context.Context, p *eval.Plan) (*eval.Profiles, error) {
			r, _, err := p.Profiles(ctx)
			return r, err
		}),
		one("profile-growth", "measure scheme sealed with short vectors, to a million", sizeFlag, func(ctx context.Context, p *eval.Plan) (*eval.ProfileGrowth, error) {
			r, _, err := p.ProfileGrowth(ctx)
			return r, err
		}),
		one("cost", "measure cloud time, build and request", sizeFlag, func(ctx context.Context, p *eval.Plan) (*eval.Cost, error) {
			r, _, err := p.Cost(ctx)
			return r, err
		}),
		sweep("speedup", "measure cpar over capia against AP"),
		sweep("recall", "measure accuracy against AP"),
		sweep("tradeoff", "measure speedup against accuracy"),
		one("samples", "annotate a few test images", 0, func(ctx context.Context, p *eval.Plan) (*eval.Samples, error) {
			r, _, err := p.Samples(ctx)
			return r, err
		}),
		one("numbers", "lay the numbers of the paper's text beside ours", sizeFlag, func(ctx context.Context, p *eval.Plan) (*eval.Numbers, error) {
			return p.Numbers(ctx)
		}),
		one("scaling", "measure growth with n", mostFlag, func(ctx context.Context, p *eval.Plan) (*eval.Scaling, error) {
			r, _, err := p.Scaling(ctx)
			return r, err
		}),
		one("flann", "hold the forests against FLANN's", 0, func(ctx context.Context, p *eval.Plan) (*eval.FLANN, error) {
			r, _, err := p.FLANN(ctx)
			return r, err
		}),
	}
}

// sweep is one of the three looks at one run.
func sweep(name, short string) *cobra.Command {
	return one(name, short, 0, func(ctx context.Context, p *eval.Plan) (sweepOf, error) {
		r, _, err := p.Sweep(ctx)
		return sweepOf{r, name}, err
	})
}

// sweepOf is a sweep that prints one of its tables; as JSON it is whole.
type sweepOf struct {
	*eval.Sweep
	table string
}

func (s sweepOf) Tables() []eval.Table { return s.Sweep.Only(s.table).Tables() }

const (
	sizeFlag = 1 << iota
	mostFlag
	modelFlag
)

func one[R eval.Result](name, short string, sizes int, measure func(context.Context, *eval.Plan) (R, error)) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   name,
		Short: short,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.plan(cmd)
			if err != nil {
				return err
			}
			defer p.Lab.Close()
			result, err := measure(cmd.Context(), p)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if f.asJSON {
				return printJSON(w, result)
			}
			return eval.PrintTables(w, result)
		},
	}
	f.add(c, "")
	if sizes&sizeFlag != 0 {
		f.addSize(c)
		c.Example = fmt.Sprintf("  $ cpar-eval %s --data corel5k --n 20000 --json", name)
	}
	if sizes&modelFlag != 0 {
		f.addModel(c)
	}
	if sizes&mostFlag != 0 {
		f.addMost(c)
	}
	return c
}
