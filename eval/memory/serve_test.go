package memory

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"cpar"
	"cpar/cparhttp"
	"cpar/eval/load"
	"cpar/eval/measure"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/user"
)

// cpard with its default limits serves an index of 300 MB on a machine with 512
// MB, and its neighbours equal the neighbours found in this process.
func TestServesLargerThanHalfOfMemory(t *testing.T) {
	needGroups(t)
	if testing.Short() {
		t.Skip("builds a program and an index of 300 MB")
	}
	const indexMB, limitMB, photos = 300, 512, 100
	s, _, err := measure.OpenSealed(t.Context(), smallPhotos(photos), user.Options{Scheme: cpar.SchemeSealed, Profile: profile.Network})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for s.Manifest.Bytes() < indexMB*1e6 {
		n := int(s.Manifest.Records)
		if err := s.Grow(t.Context(), smallPhotos(photos), n+100_000, 100_000, nil); err != nil {
			t.Fatal(err)
		}
	}
	m := &measurement{Options: Options{Work: t.TempDir(), ServerLimitMB: limitMB}}
	if m.Cpard, err = load.Build(t.Context(), m.Work, "cpard"); err != nil {
		t.Fatal(err)
	}
	c, err := m.serve(t.Context(), filepath.Join(m.Work, "cloud"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.kill()
	cloud, err := cparhttp.New(c.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.Push(t.Context(), s.Path(), nil); err != nil {
		t.Fatal(err)
	}
	for i, p := range smallPhotos(3) {
		v, err := s.Owner.Vector(p.Vectors)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Nearest(t.Context(), v, 10)
		if err != nil {
			t.Fatal(err)
		}
		pending, q, err := s.Owner.RequestVector(v, s.Params(10))
		if err != nil {
			t.Fatal(err)
		}
		reply, _, err := cloud.Annotate(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := pending.Neighbours(reply); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("photo %d: %v, %v, want %v", i, got, err, want)
		}
	}
	peak, err := c.stop()
	if err != nil || peak < 20 || peak > limitMB {
		t.Errorf("%.0f MB, %v", peak, err)
	}
	t.Logf("an index of %d photos and %d MB needs %.0f MB", s.Manifest.Records, s.Manifest.Bytes()/1e6, peak)
}

// smallPhotos returns photos with few features, whose vectors are computed
// quickly.
func smallPhotos(n int) []user.Photo {
	rng, out := rand.New(rand.NewPCG(34, 0)), make([]user.Photo, n)
	for i := range out {
		v := feature.New()
		v.RGB[0], v.HSV[0], v.Lab[0] = 1, 1, 1
		v.Embedding = &feature.Embedding{Network: [32]byte{'m', 'a', 'd', 'e'}, Values: make([]float32, 96)}
		for j := range v.Embedding.Values {
			v.Embedding.Values[j] = rng.Float32()
		}
		v.Embedding.Values[i%20] += 2
		out[i] = user.Photo{Vectors: v, Keywords: []string{fmt.Sprint("word ", i%20)}}
	}
	return out
}
