package attack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"cpar"
	"cpar/internal/testing/immichtest"
	"cpar/model/feature"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/immich"
)

// Traffic: does a run find keywords? The server sees the number, order and
// sizes of requests and the time between requests. The attack uses a clock that
// counts calls to Immich, instead of real time.

const (
	trafficRuns   = 40
	trafficPhotos = 70 // enough for three batches of requests
)

// A tagging is a run over an Immich library as seen by the CPAR server.
type tagging struct {
	clock atomic.Int32
	found func(photo int) int // number of keywords found
	saw   []string
}

func (x *tagging) Digest() [32]byte { return [32]byte{1} }

func (x *tagging) UncachedFeatures([]byte) (*feature.Vectors, error) { return &feature.Vectors{}, nil }

func (x *tagging) Annotate(_ context.Context, photos []device.Photo, _ device.AnnotateOptions) (all []device.Annotated, _ error) {
	x.saw = append(x.saw, fmt.Sprintf("%d requests at %d", len(photos), x.clock.Load()))
	for i, p := range photos {
		a := device.Annotated{Photo: p.Name, Number: i}
		for k := range x.found(i) {
			a.Keywords = append(a.Keywords, rank.Keyword{Word: fmt.Sprint("word ", k), Probability: 0.9})
		}
		all = append(all, a)
	}
	return all, nil
}

// tag annotates a new library twice, because users repeat a failed run.
func (x *tagging) tag(ctx context.Context, folder string, mayTag bool) error {
	server := immichtest.New()
	for i := range trafficPhotos {
		server.Photos = append(server.Photos, &immichtest.Photo{ID: immichtest.ID(1, i), Name: fmt.Sprint(i), Checksum: fmt.Sprint(i), Preview: []byte("jpeg")})
	}
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		x.clock.Add(1)
		if mayTag || r.Method != http.MethodPut {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	h := httptest.NewServer(server)
	defer h.Close()
	client, err := immich.NewClient(h.URL, immichtest.Key)
	if err != nil {
		return err
	}
	journal, err := immich.OpenJournal(user.NewKey(), &device.Device{State: folder})
	if err != nil {
		return err
	}
	for range 2 {
		// Without the permission to tag, a run that finds keywords fails.
		if _, err := immich.NewLibrary(client, journal).Annotate(ctx, x, immich.Options{}); err != nil && (mayTag || !errors.Is(err, cpar.ErrInput)) {
			return err
		}
	}
	return ctx.Err()
}

// traffic guesses whether a run has found keywords. For comparison, the server
// knows a run that found none for equally many photos.
func (r *run) traffic(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "cpar-attack-")
	if err != nil {
		return fmt.Errorf("making a folder for journals: %w: %w", cpar.ErrStorage, err)
	}
	defer os.RemoveAll(folder)
	rng := rand.New(rand.NewPCG(0x74726166666963, 0)) // "traffic"
	see := func(number int, keywords, mayTag bool) (string, error) {
		x := &tagging{found: func(int) int {
			if keywords {
				return rng.IntN(8)
			}
			return 0
		}}
		err := x.tag(ctx, fmt.Sprintf("%s/%d", folder, number), mayTag)
		return strings.Join(x.saw, ", "), err
	}
	without, err := see(trafficRuns, false, true)
	if err != nil {
		return err
	}
	secrets := slices.Concat(make([]bool, trafficRuns/2), slices.Repeat([]bool{true}, trafficRuns/2))
	rng.Shuffle(len(secrets), func(i, j int) { secrets[i], secrets[j] = secrets[j], secrets[i] })
	right := 0
	for i, keywords := range secrets {
		saw, err := see(i, keywords, rng.IntN(2) == 0)
		if err != nil {
			return err
		}
		guess := saw != without
		if !guess { // the server saw no difference between the runs
			guess = rng.IntN(2) == 0
		}
		if guess == keywords {
			right++
		}
	}
	r.add(proportion("traffic-by-keywords", cpar.SchemeSealed.String(), 1, right, trafficRuns, 0.5))
	return nil
}
