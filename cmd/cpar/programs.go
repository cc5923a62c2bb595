package main

import (
	"math"

	"github.com/spf13/cobra"

	"cpar/internal/progress/bar"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

// askFlags configure annotation for a photo program: the key, the index and the
// minimum probability.
type askFlags struct {
	keys    keyFlags
	model   modelFlags
	cloud   cloudFlags
	cache   cacheFlags
	likely  likelyFlags
	ranking user.Ranking
}

func (f *askFlags) add(c *cobra.Command) {
	f.keys.add(c)
	f.cloud.add(c)
	f.cloud.addIndex(c)
	f.cache.addAsking(c)
	f.model.add(c)
	c.Flags().IntVar(&f.ranking.MaxKeywords, "most", maxKeywords, "maximum number of keywords per photo, 0 for no limit")
	f.likely.add(c)
}

// check checks the flags before anything is opened. The index must give
// probabilities, because a photo program cannot interpret weights.
func (f *askFlags) check(cmd *cobra.Command) error {
	if err := f.likely.parse(cmd); err != nil {
		return err
	}
	if f.ranking.Ranker = rank.KindCalibrated; f.ranking.MaxKeywords == 0 {
		f.ranking.MaxKeywords = math.MaxInt
	}
	if err := f.ranking.Check(); err != nil {
		return err
	}
	if err := f.cache.check(); err != nil {
		return err
	}
	return f.model.Check()
}

func (f *askFlags) index(cmd *cobra.Command) (*user.Key, *device.Device, *device.Index, error) {
	client, err := f.cloud.client()
	if err != nil {
		return nil, nil, nil, err
	}
	opening, err := f.cloud.opening()
	if err != nil {
		return nil, nil, nil, err
	}
	key, this, err := f.keys.read()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := f.cache.opening(this, key, &opening); err != nil {
		return nil, nil, nil, err
	}
	opening.Progress = bar.On(cmd.ErrOrStderr())
	opening.Ready = func(o *user.Owner) error {
		if err := o.CheckRanking(f.ranking); err != nil {
			return err
		}
		f.ranking.MinProbability = f.likely.minProbability(o)
		_, err := f.model.forOwner(o, cmd.ErrOrStderr())
		return err
	}
	x, err := this.Open(cmd.Context(), client, key, opening)
	return key, this, x, err
}

// annotateOptions returns the options for annotating photos.
func (f *askFlags) annotateOptions() device.AnnotateOptions {
	return device.AnnotateOptions{Ranking: f.ranking}
}
