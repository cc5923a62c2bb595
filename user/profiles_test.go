package user

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpar"
	visible "cpar/cloud/score"
	"cpar/cloud/search"
	"cpar/internal/hint"
	"cpar/user/feature"
	"cpar/user/network"
	"cpar/user/rank"
	"cpar/user/vector"
)

// madeNetwork names the network of madeEmbedded.
var madeNetwork = sha256.Sum256([]byte("a network"))

// madeEmbedded are made images with embeddings that tell their kind.
func madeEmbedded(n int, seed uint64) []Image {
	images := madeImages(n, seed)
	rng := rand.New(rand.NewPCG(seed, 8))
	for i := range images {
		e := &feature.Embedding{Network: madeNetwork, Values: make([]float32, 40)}
		for j := range e.Values {
			e.Values[j] = rng.Float32()
			if j%4 == i%4 {
				e.Values[j] += 2
			}
		}
		images[i].Vectors.Embedding = e
	}
	return images
}

// embeddedProfiles are the profiles of squared L2 with images for each.
var embeddedProfiles = map[ProfileKind]func(n int, seed uint64) []Image{ProfileLearned: madeImages, ProfileNetwork: madeEmbedded}

// bruteForce is the squared L2 distance of a photo to every record, in floats.
func bruteForce(records []*vector.Vector, v *vector.Vector) []float64 {
	out := make([]float64, len(records))
	for i, r := range records {
		for j, x := range r.X {
			d := float64(x) - float64(v.X[j])
			out[i] += d * d
		}
	}
	return out
}

// TestLearntVectorsThroughEncryption: in every scheme the distances that come back
// are those of the vectors in floats, nearest first.
func TestLearntVectorsThroughEncryption(t *testing.T) {
	for profile, images := range embeddedProfiles {
		train, photos := images(150, 1), images(12, 9)
		for _, scheme := range []cpar.Scheme{cpar.SchemeCPAR, cpar.SchemeCAPIA, cpar.SchemeSealed, cpar.SchemeLocal} {
			key := NewKey()
			b, folder := made(t, key, train, Options{Scheme: scheme, Profile: profile, Trees: 3})
			x := open(t, key, folder)
			if x.Profile() != profile || x.Ranker() != RankerCalibrated || x.manifest.Dim > MaxEmbedded+3 {
				t.Fatalf("%v: %v, ranker %v, %d words", profile, x.Profile(), x.Ranker(), x.manifest.Dim)
			}
			for _, photo := range append(photos, train[7]) {
				v, err := x.Vector(photo.Vectors)
				if err != nil {
					t.Fatal(err)
				}
				want := bruteForce(b.vectors, v)
				near := x.everyone(photo, len(train))
				for i, n := range near {
					// Six deviations of what rounding does, and the noise.
					if math.Abs(n.Dis-want[n.Record]) > 6*math.Sqrt(2*want[n.Record]/3)/embeddedScale+3e-4 {
						t.Errorf("%v, %v: record %d at %.5f, in floats %.5f", profile, scheme, n.Record, n.Dis, want[n.Record])
					}
					if i > 0 && n.Dis < near[i-1].Dis-1e-4 {
						t.Errorf("%v, %v: %.5f after %.5f", profile, scheme, n.Dis, near[i-1].Dis)
					}
				}
				if len(near) != len(train) {
					t.Fatalf("%v, %v: %d records came back", profile, scheme, len(near))
				}
			}
			if n := x.everyone(train[7], 1)[0]; n.Dis > 1e-5 || !slices.Equal(n.Keywords, train[7].Keywords) {
				t.Errorf("%v, %v: a photo of the collection is found as %+v", profile, scheme, n)
			}
		}
	}
}

// everyone is the l nearest, whatever the scheme, with AP-100.
func (x *opened) everyone(photo Image, l int) []Neighbour {
	x.t.Helper()
	if x.exact != nil {
		return x.nearest(photo, l)
	}
	var segments [][]byte
	for _, s := range x.manifest.Segments {
		segments = append(segments, x.segments[s.Digest])
	}
	c, err := visible.Load(x.manifest, segments)
	if err != nil {
		x.t.Fatal(err)
	}
	pending, q, err := x.Request(photo.Vectors, cpar.Params{Scheme: x.manifest.Scheme, L: uint16(l), Approx: 1000})
	if err != nil {
		x.t.Fatal(err)
	}
	reply, err := search.Annotate(c, q)
	if err != nil {
		x.t.Fatal(err)
	}
	near, err := pending.Neighbours(reply)
	if err != nil {
		x.t.Fatal(err)
	}
	return near
}

// TestLearntSearchIsItsTwin: forest and inverted file visit the same records
// encrypted and in the clear.
func TestLearntSearchIsItsTwin(t *testing.T) {
	for profile, images := range embeddedProfiles {
		b, x := build(t, NewKey(), images(300, 1), Options{Profile: profile, Trees: 4})
		twin, err := b.Twin()
		if err != nil {
			t.Fatal(err)
		}
		c, err := visible.Load(x.Manifest(), x.Segments())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []cpar.Search{cpar.SearchDepthFirst, cpar.SearchByRank, cpar.SearchBestBin, cpar.SearchIVF} {
			agree, all := 0, 0
			for _, photo := range images(20, 5) {
				v, err := b.Vector(photo.Vectors)
				if err != nil {
					t.Fatal(err)
				}
				pending, q, err := b.RequestVector(v, cpar.Params{Scheme: cpar.SchemeCPAR, L: 5, Approx: 200, Search: s})
				if err != nil {
					t.Fatal(err)
				}
				reply, err := search.Annotate(c, q)
				if err != nil {
					t.Fatal(err)
				}
				hits, err := twin.Search(v, pending, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i, m := range reply.Matches {
					all++
					// Made photos of a kind are nearly alike: what noise can swap may be.
					if math.Abs(float64(m.Score-hits[i].Score)) < 2e-4*float64(pending.scale)*b.budget.Unit() {
						agree++
					}
				}
			}
			// Only an inverted file's order of lists has noise in it: trees are
			// walked by order, and planes are exact.
			if least := map[bool]int{true: 90, false: 100}[s == cpar.SearchIVF]; 100*agree < least*all {
				t.Errorf("%v, %v: %d of %d places agree", profile, s, agree, all)
			}
		}
	}
}

// TestAnotherNetworkIsRefused by its digest, with a hint, before anything is asked.
func TestAnotherNetworkIsRefused(t *testing.T) {
	train := madeEmbedded(60, 1)
	b, x := build(t, NewKey(), train, Options{Profile: ProfileNetwork, Scheme: cpar.SchemeCAPIA})
	o, err := Open(b.key, x.Manifest(), x.Segment(cpar.SegmentLedger))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "model file") {
			t.Errorf("%s: %v; hint %q", what, err, hint.Of(err))
		}
	}
	refused("no network", o.Use(nil))
	refused("another network", o.Use(&Network{digest: sha256.Sum256([]byte("another"))}))
	if err := o.Use(&Network{digest: madeNetwork}); err != nil {
		t.Errorf("its own network: %v", err)
	}
	bare := madeImages(1, 9)[0].Vectors
	_, _, err = o.Request(bare, o.DefaultParams())
	refused("a photo without an embedding", err)
	other := *train[0].Vectors
	other.Embedding = &feature.Embedding{Network: sha256.Sum256([]byte("another")), Values: train[0].Vectors.Embedding.Values}
	_, _, err = o.Request(&other, o.DefaultParams())
	refused("another network's embedding", err)
	other.Embedding = &feature.Embedding{Network: madeNetwork, Values: make([]float32, 39)}
	if _, _, err := o.Request(&other, o.DefaultParams()); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a short embedding: %v", err)
	}
	// One embedding of another network among those of a collection.
	mixed := slices.Clone(train)
	mixed[3].Vectors = &other
	other.Embedding.Network = sha256.Sum256([]byte("another"))
	_, err = Setup(context.Background(), NewKey(), mixed, Options{Profile: ProfileNetwork})
	refused("a mixed collection", err)
	// No network is asked for where none was used.
	plain, _ := build(t, NewKey(), madeImages(30, 1), Options{PCA: 128, Trees: 1})
	if err := plain.Use(nil); err != nil {
		t.Errorf("profile paper: %v", err)
	}
}

// TestOpenChecksTheProfile: the profile of another index, or of another state, is
// refused by its digest before the key is tried.
func TestOpenChecksTheProfile(t *testing.T) {
	key := NewKey()
	_, a := build(t, key, madeImages(60, 1), Options{Profile: ProfileLearned, Scheme: cpar.SchemeCAPIA})
	_, b := build(t, key, madeImages(60, 1), Options{Scheme: cpar.SchemeCAPIA, PCA: 128})
	if _, err := Open(key, a.Manifest(), b.Segment(cpar.SegmentLedger)); !errors.Is(err, cpar.ErrCorrupt) || hint.Of(err) == "" {
		t.Errorf("another profile: %v; hint %q", err, hint.Of(err))
	}
	if _, err := Open(key, a.Manifest(), a.Segment(cpar.SegmentLedger)); err != nil {
		t.Error(err)
	}
}

// TestRankings: probabilities where there are some, and refusals where not.
func TestRankings(t *testing.T) {
	near := []Neighbour{{Dis: 0.1, Keywords: []string{"kind 1", "word 1"}}, {Dis: 0.3, Keywords: []string{"kind 1"}}, {Dis: 0.5, Keywords: []string{"word 2"}}}
	plain, _ := build(t, NewKey(), madeImages(80, 1), Options{PCA: 128, Trees: 1})
	// What is learnt and calibrated does not depend on the key, as it does where a
	// secret projection has distances of its own: so few photos differ with it.
	calibrated, x := build(t, NewKey(), madeImages(80, 1), Options{Profile: ProfileLearned, Trees: 1, Ranker: RankerCalibrated})
	weighted, _ := build(t, NewKey(), madeImages(80, 1), Options{Profile: ProfileLearned, Trees: 1, Ranker: RankerPaper})
	if plain.Ranker() != RankerPaper || calibrated.Ranker() != RankerCalibrated || weighted.Ranker() != RankerPaper || plain.Neighbours() != 10 {
		t.Fatal("an index has another ranker than was asked for")
	}
	got, err := plain.Rank(near, Ranking{Most: 2})
	want := RankKeywords(near, 2)
	if err != nil || len(got) != 2 || got[0].Word != want[0].Word || got[0].Weight != want[0].Weight || got[0].Probability != 0 {
		t.Errorf("W_t: %v, %v; want %v", got, err, want)
	}
	o, err := Open(calibrated.key, x.Manifest(), x.Segment(cpar.SegmentLedger))
	if err != nil {
		t.Fatal(err)
	}
	all, err := o.Rank(near, Ranking{Most: 9})
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	least, most := all[0].Probability, all[0].Probability
	for _, k := range all {
		least, most = min(least, k.Probability), max(most, k.Probability)
	}
	if !(least > 0 && most < 1 && least < most) {
		t.Errorf("probabilities from %g to %g", least, most)
	}
	if some, err := o.Rank(near, Ranking{Most: 9, MinProbability: most}); err != nil || len(some) != 1 || some[0].Probability != most {
		t.Errorf("above %g: %v, %v", most, some, err)
	}
	if none, err := o.Rank(near, Ranking{Most: 9, MinProbability: 1}); err != nil || len(none) != 0 {
		t.Errorf("above 1: %v, %v", none, err)
	}
	byProbability := func(a, b rank.Scored) int { return cmp.Compare(b.Probability, a.Probability) }
	byWeight := func(a, b rank.Scored) int { return cmp.Compare(b.Weight, a.Weight) }
	rare, err := o.Rank(near, Ranking{Most: 9, Rare: true})
	if err != nil || len(rare) != 3 || !slices.IsSortedFunc(rare, byWeight) || !slices.IsSortedFunc(all, byProbability) {
		t.Errorf("in order of probability %v, rare words first %v, %v", all, rare, err)
	}
	if own, err := o.Rank(near, Ranking{Most: 2, Ranker: RankerPaper}); err != nil || own[0].Weight != want[0].Weight {
		t.Errorf("the paper's, asked for: %v, %v", own, err)
	}
	for name, err := range map[string]error{
		"none":            o.CheckRanking(Ranking{}),
		"a probability":   o.CheckRanking(Ranking{Most: 1, MinProbability: 1.5}),
		"not a number":    o.CheckRanking(Ranking{Most: 1, MinProbability: math.NaN()}),
		"no calibration":  plain.CheckRanking(Ranking{Most: 1, Ranker: RankerCalibrated}),
		"no rare words":   plain.CheckRanking(Ranking{Most: 1, Rare: true}),
		"no probability":  plain.CheckRanking(Ranking{Most: 1, MinProbability: 0.5}),
		"none of weights": o.CheckRanking(Ranking{Most: 1, MinProbability: 0.5, Ranker: RankerPaper}),
	} {
		if !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLearntIndexIsUpdated: what is added goes through the projection that was
// learnt; words that Compact drops are counted no longer.
func TestLearntIndexIsUpdated(t *testing.T) {
	ctx := context.Background()
	for profile, images := range embeddedProfiles {
		for _, scheme := range exactSchemes {
			key := NewKey()
			first, second := images(50, 1), images(3, 2)
			second[0].Keywords = []string{"kind 0", "a word of its own"}
			_, folder := made(t, key, first, Options{Scheme: scheme, Profile: profile})
			if _, err := Add(ctx, key, folder, second, nil); err != nil {
				t.Fatal(err)
			}
			x := open(t, key, folder)
			if n := x.nearest(second[0], 1)[0]; n.Dis > 1e-5 || !slices.Equal(n.Keywords, second[0].Keywords) {
				t.Errorf("%v, %v: what was added is found as %+v", profile, scheme, n)
			}
			ranker := func() string {
				b, err := x.profile.ranker.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			if !strings.Contains(ranker(), "a word of its own") {
				t.Errorf("%v, %v: a word that was added is not counted", profile, scheme)
			}
			if u, err := Remove(ctx, key, folder, second[:1]); err != nil || u.Removed != 1 {
				t.Fatalf("%v, %v: %+v, %v", profile, scheme, u, err)
			}
			if _, err := Compact(ctx, key, folder); err != nil {
				t.Fatal(err)
			}
			x = open(t, key, folder)
			if x.Records() != 52 || strings.Contains(ranker(), "a word of its own") || slices.Contains(x.Words(), "a word of its own") {
				t.Errorf("%v, %v: %d records, words %v", profile, scheme, x.Records(), x.Words())
			}
			if n := x.nearest(second[1], 1)[0]; n.Dis > 1e-5 {
				t.Errorf("%v, %v: after Compact %+v", profile, scheme, n)
			}
		}
	}
}

// TestPruneNeedsAPlaneThatBounds: squared distances are in no proportion to planes.
func TestPruneNeedsAPlaneThatBounds(t *testing.T) {
	b, _ := build(t, NewKey(), madeImages(60, 1), Options{Profile: ProfileLearned, Trees: 2})
	_, _, err := b.Request(madeImages(1, 9)[0].Vectors, cpar.Params{Scheme: cpar.SchemeCPAR, L: 3, Approx: 100, Prune: true})
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), "squared") {
		t.Error(err)
	}
}

// TestNothingToLearnFrom: a collection without keywords that differ has a clear
// error that names what will do.
func TestNothingToLearnFrom(t *testing.T) {
	images := madeImages(20, 1)
	for i := range images {
		images[i].Keywords = nil
	}
	if _, err := Setup(context.Background(), NewKey(), images, Options{Profile: ProfileLearned}); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "paper") {
		t.Errorf("%v; hint %q", err, hint.Of(err))
	}
	if _, err := Setup(context.Background(), NewKey(), madeImages(20, 1), Options{Profile: ProfileNetwork}); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "--model") {
		t.Errorf("%v; hint %q", err, hint.Of(err))
	}
}

// fakeNetwork is a model that takes two by two pixels.
type fakeNetwork struct{ tensor string }

func (f fakeNetwork) Embed(image []float32) ([]float32, error) { return image[:3], nil }
func (f fakeNetwork) Embedding() (string, int)                 { return f.tensor, 3 }
func (f fakeNetwork) Size() (int, int)                         { return 2, 2 }
func (f fakeNetwork) Digest() [sha256.Size]byte                { return [sha256.Size]byte{1} }
func (f fakeNetwork) Runtime() string                          { return "fake" }
func (f fakeNetwork) Metadata() map[string]string              { return nil }
func (f fakeNetwork) Close() error                             { return nil }
func (f fakeNetwork) Preprocessing() (p network.Preprocessing, ok bool, err error) {
	return p, false, nil
}

// TestNetworkDigest: it names model, tensor and preprocessing.
func TestNetworkDigest(t *testing.T) {
	digest := func(tensor, preset string) [sha256.Size]byte {
		p, err := network.Preset(preset, 2)
		if err != nil {
			t.Fatal(err)
		}
		n, err := NewNetwork(fakeNetwork{tensor}, p)
		if err != nil {
			t.Fatal(err)
		}
		return n.Digest()
	}
	a := digest("a", "clip")
	if a != digest("a", "clip") || a == digest("b", "clip") || a == digest("a", "tensorflow") {
		t.Error("a digest does not name what it is of")
	}
	p, err := network.Preset("clip", 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewNetwork(fakeNetwork{}, p); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("pictures of another size: %v", err)
	}
}
