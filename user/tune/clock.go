package tune

import (
	"context"
	"math"
	"time"

	"cpar/internal/humanfmt"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/vectorlayout"
	"cpar/photo/dataset"
	"cpar/photo/decode"
	"cpar/user/internal/aspe"
)

// timedPhotos are read again to be timed.
const timedPhotos = 7

// readSome reads a few photos, spread over the collection; those that cannot be
// read are passed over.
func readSome(items []dataset.Photo) (photos [][]byte) {
	n := min(len(items), timedPhotos)
	for i := range n {
		if b, err := decode.ReadFile(items[i*len(items)/n].Path); err == nil {
			photos = append(photos, b)
		}
	}
	return photos
}

// timePhotos is the median of the milliseconds that extracting a photo takes, 0
// without photos. Each counts with the better of two runs: what else the machine
// does is no cost of a photo.
func timePhotos(ctx context.Context, photos [][]byte, how feature.Options) (float64, error) {
	e := feature.NewExtractor()
	var times []float64
	for _, photo := range photos {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		var err error
		ms := better(func() { _, err = e.Photo(photo, how) })
		if err == nil { // a build names and leaves out other photos, too
			times = append(times, ms)
		}
	}
	return humanfmt.Median(times), nil
}

// timeOwner is the time to extract a photo's features and to make the profile's
// vector from them.
func (r *trial) timeOwner(ctx context.Context) (float64, error) {
	extract := r.extract
	if r.kind == profile.Network {
		extract = 0
		if r.opt.Network != nil {
			var err error
			if extract, err = timePhotos(ctx, r.photos, feature.Options{Network: r.opt.Network}); err != nil {
				return 0, err
			}
		}
	}
	if extract == 0 {
		return 0, nil
	}
	var times []float64
	for _, im := range r.images[:min(len(r.images), timedPhotos)] {
		var err error
		times = append(times, better(func() {
			v, e := r.fit.Profile.Vector(im.Vectors)
			if e == nil {
				_, e = r.projector.Project(v)
			}
			err = e
		}))
		if err != nil {
			return 0, err
		}
	}
	return humanfmt.Round(extract+humanfmt.Median(times), 3), nil
}

// better is the milliseconds of the faster of two runs.
func better(work func()) float64 {
	best := math.Inf(1)
	for range 2 {
		begun := time.Now()
		work()
		best = min(best, time.Since(begun).Seconds()*1e3)
	}
	return best
}

// timeScan is the median of the milliseconds that a scan of n records takes with
// the cloud's kernels. Of more than chooseFrom records some are scanned: it is a
// matter of memory read.
func timeScan(ctx context.Context, n int, layout vectorlayout.Params) (float64, error) {
	some := min(n, chooseFrom)
	scan, err := aspe.Scanner(layout, some)
	if err != nil {
		return 0, err
	}
	var times []float64
	for range timedPhotos {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		times = append(times, better(scan)*float64(n)/float64(some))
	}
	return humanfmt.Round(humanfmt.Median(times), 4), nil
}
