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

const timedPhotos = 7

// readSome reads up to timedPhotos photos spread over the collection and skips
// unreadable photos.
func readSome(items []dataset.Photo) (photos [][]byte) {
	n := min(len(items), timedPhotos)
	for i := range n {
		if b, err := decode.ReadFile(items[i*len(items)/n].Path); err == nil {
			photos = append(photos, b)
		}
	}
	return photos
}

// timePhotos returns the median time to extract the features of a photo in
// milliseconds, or 0 without photos. Each time is the faster of two runs, to
// exclude other load.
func timePhotos(ctx context.Context, photos [][]byte, how feature.Options) (float64, error) {
	e := feature.NewExtractor()
	var times []float64
	for _, photo := range photos {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		var err error
		ms := fasterOfTwo(func() { _, err = e.Photo(photo, how) })
		if err == nil { // otherwise skip the photo, as a build does
			times = append(times, ms)
		}
	}
	return humanfmt.Median(times), nil
}

func (r *trial) timeOwner(ctx context.Context) (float64, error) {
	extract := r.extract
	if r.kind == profile.Network || r.kind == profile.Clip {
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
		times = append(times, fasterOfTwo(func() {
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

func fasterOfTwo(work func()) float64 {
	best := math.Inf(1)
	for range 2 {
		begun := time.Now()
		work()
		best = min(best, time.Since(begun).Seconds()*1e3)
	}
	return best
}

// timeScan returns the median time of a scan of n records with the cloud's
// kernels, in milliseconds. Above chooseFrom records it scans a part and
// extrapolates, because memory bandwidth dominates.
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
		times = append(times, fasterOfTwo(scan)*float64(n)/float64(some))
	}
	return humanfmt.Round(humanfmt.Median(times), 4), nil
}
