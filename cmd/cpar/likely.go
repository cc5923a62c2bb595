package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/user"
)

// likelyFlags determine which keywords count as likely.
type likelyFlags struct {
	right string
	share float64 // right, parsed
	least float64
	set   bool // least was given
}

func (f *likelyFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.right, "right", "2/3", "share of all likely keywords that is right, such as 2/3, 0.8 or 80%")
	c.Flags().Float64Var(&f.least, "min-probability", 0, "minimum probability of a likely keyword, 0 to 1, instead of --right")
	c.Flags().Lookup("min-probability").DefValue = "" // by --right
}

func (f *likelyFlags) parse(cmd *cobra.Command) (err error) {
	f.set = cmd.Flags().Changed("min-probability")
	if f.set && cmd.Flags().Changed("right") {
		return exitcode.UsageError(fmt.Errorf("--right with --min-probability, which replaces it"))
	}
	if f.share, err = parseShare(f.right); err != nil {
		return hint.Add(exitcode.UsageError(fmt.Errorf("--right %s: %w", sanitize.Text(f.right), err)), "write 2/3 or 0.8")
	}
	return user.Ranking{MaxKeywords: 1, MinProbability: f.least}.Check()
}

// parseShare parses a fraction, a decimal or a percentage from 0 to 1.
func parseShare(text string) (float64, error) {
	number, divisor := text, 1.0
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		number, divisor = percent, 100
	} else if above, below, ok := strings.Cut(text, "/"); ok {
		var err error
		if divisor, err = strconv.ParseFloat(strings.TrimSpace(below), 64); err != nil {
			return 0, fmt.Errorf("%w: it is no share", cpar.ErrInput)
		}
		number = above
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if x /= divisor; err != nil || !(x >= 0 && x <= 1) {
		return 0, fmt.Errorf("%w: it is no share from 0 to 1", cpar.ErrInput)
	}
	return x, nil
}

// minProbability returns the threshold for an index, 0 if its ranker has no
// probabilities.
func (f *likelyFlags) minProbability(o *user.Owner) float64 {
	if threshold := o.Threshold(f.share); threshold == 0 || !f.set {
		return threshold
	}
	return f.least
}
