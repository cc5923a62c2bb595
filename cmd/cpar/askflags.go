package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

// askFlags name an index at a cloud, its key and its image network, and
// determine which keywords are likely.
type askFlags struct {
	keys   keyFlags
	model  modelFlags
	cloud  cloudFlags
	cache  cacheFlags
	likely likelyFlags
}

func (f *askFlags) add(c *cobra.Command) {
	f.keys.add(c)
	f.cloud.add(c)
	f.cloud.addIndex(c)
	f.cache.addAsking(c)
	f.model.add(c)
	f.likely.add(c)
}

func (f *askFlags) check(cmd *cobra.Command) error {
	if err := f.likely.parse(cmd); err != nil {
		return err
	}
	if err := f.cache.check(); err != nil {
		return err
	}
	return f.model.Check()
}

// An asker opens an index at a cloud.
type asker struct {
	key     *user.Key
	this    *device.Device
	client  *cparhttp.Client
	options device.OpenOptions
}

func (f *askFlags) asker(cmd *cobra.Command) (a asker, err error) {
	if a.client, err = f.cloud.client(); err != nil {
		return a, err
	}
	if a.options, err = f.cloud.opening(); err != nil {
		return a, err
	}
	if a.key, a.this, err = f.keys.read(); err != nil {
		return a, err
	}
	a.options.Progress = bar.On(cmd.ErrOrStderr())
	return a, f.cache.opening(a.this, a.key, &a.options)
}

// open opens the index. It calls function `ready` before any request, and fails
// if that function returns an error.
func (a *asker) open(ctx context.Context, ready func(*user.Owner) error) (*device.Index, error) {
	a.options.Ready = ready
	x, err := a.this.Open(ctx, a.client, a.key, a.options)
	if errors.Is(err, cparhttp.ErrNotFound) && a.options.Index != (cpar.IndexID{}) {
		err = hint.Add(err, "cpar list shows the indexes there, and cpar push sends the one in a folder")
	}
	return x, err
}

// programFlags configure annotation on behalf of a photo program, such as
// Immich.
type programFlags struct {
	askFlags
	ranking user.Ranking
}

func (f *programFlags) add(c *cobra.Command) {
	f.askFlags.add(c)
	c.Flags().IntVar(&f.ranking.MaxKeywords, "most", maxKeywords, "maximum number of keywords per photo, 0 for no limit")
}

// check checks the flags before anything is opened. It requires keywords with
// probabilities, because a photo program cannot interpret weights.
func (f *programFlags) check(cmd *cobra.Command) error {
	if f.ranking.Ranker = rank.KindCalibrated; f.ranking.MaxKeywords == 0 {
		f.ranking.MaxKeywords = math.MaxInt
	}
	if err := f.ranking.Check(); err != nil {
		return err
	}
	return f.askFlags.check(cmd)
}

func (f *programFlags) index(cmd *cobra.Command) (a asker, x *device.Index, err error) {
	if a, err = f.asker(cmd); err != nil {
		return a, nil, err
	}
	x, err = f.openIndex(cmd, &a)
	return a, x, err
}

// openIndex opens the index and sets the threshold of likely keywords.
func (f *programFlags) openIndex(cmd *cobra.Command, a *asker) (*device.Index, error) {
	return a.open(cmd.Context(), func(o *user.Owner) error {
		if err := o.CheckRanking(f.ranking); err != nil {
			return err
		}
		f.ranking.MinProbability = f.likely.minProbability(o)
		_, err := f.model.forOwner(o, cmd.ErrOrStderr())
		return err
	})
}

func (f *programFlags) annotateOptions() device.AnnotateOptions {
	return device.AnnotateOptions{Ranking: f.ranking}
}

// likelyFlags determine which keywords count as likely.
type likelyFlags struct {
	right string  // value of --right
	share float64 // the parsed value of `right`
	least float64 // value of --min-probability
	set   bool    // whether --min-probability was given
}

func (f *likelyFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.right, "right", "2/3", "share of the suggested keywords that should be right, such as 2/3, 0.8 or 80%")
	c.Flags().Float64Var(&f.least, "min-probability", 0, "minimum probability of a likely keyword, 0 to 1, instead of --right")
	c.Flags().Lookup("min-probability").DefValue = "0" // hidden in help, because --right applies by default
}

func (f *likelyFlags) parse(cmd *cobra.Command) (err error) {
	f.set = cmd.Flags().Changed("min-probability")
	if f.set && cmd.Flags().Changed("right") {
		return exitcode.UsageError(fmt.Errorf("--right and --min-probability exclude each other: pass one of them"))
	}
	if f.share, err = parseShare(f.right); err != nil {
		return hint.Add(exitcode.UsageError(fmt.Errorf("--right %s: %w", sanitize.Text(f.right), err)), "write 2/3 or 0.8")
	}
	return user.Ranking{MaxKeywords: 1, MinProbability: f.least}.Check()
}

// parseShare parses a share from 0 to 1, given as a fraction, a decimal or a
// percentage.
func parseShare(text string) (float64, error) {
	number, divisor := text, 1.0
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		number, divisor = percent, 100
	} else if above, below, ok := strings.Cut(text, "/"); ok {
		var err error
		if divisor, err = strconv.ParseFloat(strings.TrimSpace(below), 64); err != nil {
			return 0, fmt.Errorf("%w: it is not a fraction", cpar.ErrInput)
		}
		number = above
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if x /= divisor; err != nil || !(x >= 0 && x <= 1) {
		return 0, fmt.Errorf("%w: it is not a fraction from 0 to 1", cpar.ErrInput)
	}
	return x, nil
}

// minProbability returns the minimum probability of likely keywords for an
// index, or 0 if its ranker gives no probabilities.
func (f *likelyFlags) minProbability(o *user.Owner) float64 {
	if threshold := o.Threshold(f.share); threshold == 0 || !f.set {
		return threshold
	}
	return f.least
}
