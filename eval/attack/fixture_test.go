package attack

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math"
	mrand "math/rand/v2"
	"slices"
	"testing"

	"cpar/model/feature"
	"cpar/user"
)

const factors = 8

// synthetic generates features that depend on a few factors of decreasing
// weight. The two largest determine the keyword.
func synthetic(seed uint64, train, test int) *Collection {
	rng := mrand.New(mrand.NewPCG(seed, 1))
	m := &maker{}
	for i := range m.middle {
		m.middle[i] = math.Exp(0.5 * rng.NormFloat64())
		for f := range m.weight[i] {
			m.weight[i][f] = rng.NormFloat64()
		}
	}
	images := make([]user.Photo, train+test)
	places := make([][factors]float64, len(images))
	for i := range images {
		u := &places[i]
		for f := range u {
			// Factors are skewed, so that none looks like its mirror image.
			u[f] = (rng.ExpFloat64() - 1) / float64(1+f)
		}
		word := "word " + string(rune('a'+2*int(min(max(2*u[0]+1, 0), 3))))
		images[i] = user.Photo{Vectors: m.features(rng, u), Keywords: []string{word}}
	}
	return &Collection{Train: images[:train], Test: images[train:], Changed: func(i int) (*feature.Vectors, error) {
		rng, u := mrand.New(mrand.NewPCG(seed, 2+uint64(i))), places[train+i]
		for f := range u {
			u[f] += 0.01 * rng.NormFloat64()
		}
		return m.features(rng, &u), nil
	}}
}

type maker struct {
	middle [3*48 + 2*256 + 2*4096]float64
	weight [3*48 + 2*256 + 2*4096][factors]float64
}

func (m *maker) features(rng *mrand.Rand, u *[factors]float64) *feature.Vectors {
	at := 0
	part := func(n int, histogram bool) []float32 {
		out, sum := make([]float32, n), float32(0)
		for i := range out {
			x := 0.05 * rng.NormFloat64()
			for f, w := range m.weight[at+i] {
				x += 0.3 * w * u[f]
			}
			out[i] = float32(m.middle[at+i] * math.Exp(x))
			sum += out[i]
		}
		for i := range out {
			if histogram {
				out[i] /= sum
			}
		}
		at += n
		return out
	}
	v := &feature.Vectors{RGB: part(48, true), HSV: part(48, true), Lab: part(48, true),
		Gabor: part(256, false), GaborQ: part(256, false), Haar: part(4096, false), HaarQ: part(4096, false)}
	v.Patches = slices.Repeat(v.Gabor, feature.PatchDim)[:feature.PatchDim]
	return v
}

// opaque is a target that reveals nothing.
func opaque(records int) *Target {
	place := make([]int, records)
	for i := range place {
		place[i] = i
	}
	return &Target{Owner: opaqueOwner{}, Cloud: &opaqueCloud{StoredIndex{Records: records}}, TrainIndex: place}
}

type opaqueOwner struct{}

func (opaqueOwner) Request(*feature.Vectors, bool) ([]byte, *user.Pending, error) {
	b := make([]byte, 64)
	rand.Read(b)
	return b, nil, nil
}

type opaqueCloud struct{ stored StoredIndex }

func (c *opaqueCloud) Scheme() string       { return "opaque" }
func (c *opaqueCloud) Stored() *StoredIndex { return &c.stored }

func (c *opaqueCloud) Observe(request []byte) (*Observation, error) {
	sum := sha256.Sum256(request)
	rng := mrand.New(mrand.NewChaCha8(sum))
	s := &Observation{Request: request, Scores: make([]float64, c.stored.Records)}
	for i := range s.Scores {
		word := rng.Uint64()
		s.Scores[i] = float64(int64(word))
		s.Reply = binary.LittleEndian.AppendUint64(s.Reply, word)
	}
	return s, nil
}

func row(t *testing.T, rows []Row, attack, scheme string, known int) Row {
	t.Helper()
	return profileRow(t, rows, attack, scheme, "paper", known)
}

func profileRow(t *testing.T, rows []Row, attack, scheme, profile string, known int) Row {
	t.Helper()
	for _, r := range rows {
		if r.Attack == attack && r.Scheme == scheme && r.Profile == profile && (known < 0 || r.Known == known) {
			return r
		}
	}
	t.Fatalf("no row of %s on %s, profile %s, with %d known", attack, scheme, profile, known)
	return Row{}
}
