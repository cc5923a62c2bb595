package demo

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cpar"
	"cpar/internal/humanfmt"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
)

// sureFrom is the minimum probability of a keyword that is shown as "likely".
// maybeFrom is the minimum for "maybe". Less probable keywords are not shown.
const sureFrom, maybeFrom = 0.5, 0.25

// calibrateFrom is the minimum number of photos from which profile "paper" can
// learn probabilities.
const calibrateFrom = 100

type Photo struct {
	Name     string    `json:"name"`
	Truth    []string  `json:"truth"` // keywords that people gave
	Keywords []Keyword `json:"keywords"`
	// Nearest are the indexed photos from which the keywords are taken, the
	// nearest first.
	Nearest  []rank.Neighbour `json:"nearest"`
	Sent     int              `json:"bytes_sent"`
	Received int              `json:"bytes_received"`

	request []byte
	Picture picture `json:"-"`
	Near    []item  `json:"-"` // the first of Nearest, as photos
}

// A Keyword is a keyword that was found. Sure reports whether it is likely, and
// Correct reports whether people gave it too.
type Keyword struct {
	rank.Keyword
	Sure    bool `json:"sure"`
	Correct bool `json:"correct"`
}

// Figure returns the probability or, if there is none, the weight.
func (k Keyword) Figure() string {
	if k.Probability > 0 {
		return fmt.Sprintf("%.0f %%", min(99, math.Floor(100*k.Probability))) // 99 at most, because no keyword is certain
	}
	return fmt.Sprintf("%.1f", k.Weight)
}

func (s *session) buildIndex(ctx context.Context) error {
	images, words := make([]user.Photo, len(s.train)), map[string]bool{}
	for i, it := range s.train {
		images[i] = user.Photo{Vectors: it.vectors, Keywords: it.Keywords}
		for _, w := range it.Keywords {
			words[w] = true
		}
	}
	s.result.Records, s.result.Words = len(images), len(words)
	o := user.Options{Profile: user.SuitedProfile(images), Progress: s.Progress}
	if len(images) >= calibrateFrom {
		o.Ranker = rank.KindCalibrated
	}
	s.result.Profile = o.Profile.String()
	return s.step(func() string {
		return fmt.Sprintf("learn from %d keywords, encrypt %d photos", len(words), len(images))
	}, func() (err error) {
		if s.builder, err = user.Setup(ctx, s.key, images, o); err != nil {
			return err
		}
		s.index, err = s.builder.Encrypt(ctx, s.path("index"))
		return err
	})
}

func (s *session) pushIndex(ctx context.Context) error {
	s.result.Stored = s.index.Bytes()
	return s.step(func() string {
		return "push the encrypted index, " + Bytes(s.result.Stored)
	}, func() error {
		_, err := s.client.Push(ctx, s.path("index"), func(done, total int64) {
			s.Progress.Report("push, kB", int(done/1000), int(total/1000))
		})
		return err
	})
}

// openIndex opens the index as a device does that has only the key.
func (s *session) openIndex(ctx context.Context) error {
	return s.step(func() string {
		return fmt.Sprintf("open it with the key: fetch %s, once", Bytes(s.result.Fetched))
	}, func() (err error) {
		d := device.Device{State: s.path("device")}
		if s.opened, err = d.Open(ctx, s.client, s.key, device.OpenOptions{Index: s.index.ID}); err != nil {
			return err
		}
		ledger, _ := s.index.Segment(cpar.SegmentLedger)
		s.result.Fetched = ledger.Bytes + s.opened.Fetched
		s.result.Probable = s.opened.Ranker().Kind() == rank.KindCalibrated
		return nil
	})
}

// annotate finds keywords for the new photos. It keeps a copy of each request.
func (s *session) annotate(ctx context.Context) error {
	photos := make([]device.Photo, len(s.fresh))
	for i, it := range s.fresh {
		photos[i] = device.Extracted(it.Name, it.vectors)
		s.result.Photos = append(s.result.Photos, Photo{Name: it.Name, Truth: it.Keywords})
	}
	o := device.AnnotateOptions{Ranking: user.Ranking{MaxKeywords: s.Keywords}, Progress: s.Progress}
	if s.result.Probable {
		o.Ranking.MinProbability = maybeFrom
	}
	o.Sending = func(i int, q *cpar.Request) (err error) {
		s.result.Photos[i].request, err = q.MarshalBinary()
		return err
	}
	var all []device.Annotated
	err := s.step(func() string {
		return fmt.Sprintf("find keywords for %d new photos over HTTP", len(photos))
	}, func() (err error) {
		all, err = s.opened.Annotate(ctx, photos, o)
		return err
	})
	if err != nil {
		return err
	}
	var home, cloud []time.Duration
	for i, a := range all {
		if a.Err != nil {
			return fmt.Errorf("finding keywords for %s: %w", a.Photo, a.Err)
		}
		p := &s.result.Photos[i]
		p.Nearest, p.Sent, p.Received = a.Near, a.Sent, a.Received
		p.Keywords = marked(a.Keywords, s.result.Probable, len(a.Near), p.Truth)
		home = append(home, a.Took.Vector+a.Took.Request+a.Took.Read)
		cloud = append(cloud, a.Took.Answer)
	}
	s.result.DeviceMS, s.result.CloudMS = ms(humanfmt.Median(home)), ms(humanfmt.Median(cloud))
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// marked marks sure and correct keywords. If there are no probabilities, no
// keyword is sure, and marked keeps the keywords that at least about half of
// the near photos have.
func marked(keywords []rank.Keyword, probable bool, near int, truth []string) []Keyword {
	out := []Keyword{}
	for _, k := range keywords {
		if probable || k.Weight >= float64(near-1)/2 {
			out = append(out, Keyword{k, k.Probability >= sureFrom, slices.Contains(truth, k.Word)})
		}
	}
	return out
}
