package user

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/testing/syntheticphotos"
	"cpar/internal/wire"
	"cpar/model/profile"
	"cpar/model/rank"
)

func TestBuildsShareNothing(t *testing.T) {
	for _, scheme := range cpar.Schemes() {
		key, images := testKey(), madeImages(10, 2)
		_, one := build(t, key, images, small(scheme))
		_, other := build(t, key, images, small(scheme))
		a, b := look(t, key, one), look(t, key, other)
		if a.ID() == b.ID() {
			t.Errorf("%v: two indexes have one id, and so one key", scheme)
		}
		apart(t, fmt.Sprint(scheme), a, b)
	}
}

// apart checks that two indexes or generations have no ciphertext in common
// except the segments in stay.
func apart(t *testing.T, name string, a, b *opened, stay ...cpar.Segment) {
	t.Helper()
	for _, s := range a.manifest.Segments {
		switch s.Kind {
		case cpar.SegmentForest, cpar.SegmentLists, cpar.SegmentParams:
			continue // plaintext shapes
		}
		if slices.Contains(stay, s) {
			continue
		}
		for _, o := range b.manifest.Segments {
			if o.Kind == s.Kind && !slices.Contains(stay, o) && a.sharesRun(a.segments[s.Digest], b.segments[o.Digest]) {
				t.Errorf("%s: 12 bytes of %v are in both", name, s.Kind)
			}
		}
	}
}

// TestShapeTellsNothing checks that indexes of equal shape have segments and
// requests of equal lengths, whatever their photos, words and number of
// requested neighbours.
func TestShapeTellsNothing(t *testing.T) {
	for _, scheme := range growing {
		key := testKey()
		others := madeImages(40, 5)
		for i := range others {
			others[i].Keywords = append(others[i].Keywords, fmt.Sprintf("a longer word, number %d", i))
		}
		_, one := build(t, key, madeImages(40, 1), small(scheme))
		_, other := build(t, key, others, small(scheme))
		a, b := held(t, key, one), held(t, key, other)
		if len(a.manifest.Segments) != len(b.manifest.Segments) {
			t.Fatalf("%v: %d and %d segments", scheme, len(a.manifest.Segments), len(b.manifest.Segments))
		}
		for i, s := range a.manifest.Segments {
			if o := b.manifest.Segments[i]; s.Kind != o.Kind || s.Bytes != o.Bytes {
				t.Errorf("%v: segments %v of %d and %v of %d bytes", scheme, s.Kind, s.Bytes, o.Kind, o.Bytes)
			}
		}
		apart(t, fmt.Sprint(scheme), a, b)
		photo := madeImages(1, 9)[0].Vectors
		var sent [][]byte
		for _, l := range []int{1, 1000} {
			_, q, err := a.Request(photo, a.params(l))
			if err != nil {
				t.Fatal(err)
			}
			if q == nil {
				continue // no request is sent
			}
			if q.Params != (cpar.Params{Scheme: scheme}) {
				t.Errorf("the request shows %+v", q.Params)
			}
			enc, err := q.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, enc)
		}
		if (len(sent) == 0) == scheme.CloudSearches() {
			t.Errorf("%v: %d requests were sent", scheme, len(sent))
		}
		if len(sent) > 0 && (len(sent[0]) != len(sent[1]) || a.sharesRun(sent[0], sent[1])) {
			t.Error("two requests differ in length or share 12 bytes")
		}
	}
}

// TestIndexesAreHedged repeats the random numbers, as a cloned machine would.
// Indexes of different collections or options must share neither id nor
// ciphertext.
func TestIndexesAreHedged(t *testing.T) {
	key := testKey()
	stuck := func(images []Photo, opt Options) *opened {
		t.Helper()
		opt.testOnlyRand = syntheticphotos.Stuck{}
		_, folder := build(t, key, images, opt)
		return look(t, key, folder)
	}
	images := madeImages(20, 2)
	photo, word, order := slices.Clone(images), slices.Clone(images), slices.Clone(images)
	photo[7].Vectors = madeImages(1, 8)[0].Vectors
	word[7].Keywords = []string{"kind 0"}
	order[3], order[4] = order[4], order[3]
	for _, scheme := range cpar.Schemes() {
		opt := small(scheme)
		first := stuck(images, opt)
		if again := stuck(images, opt); again.ID() != first.ID() || again.Digest() != first.Digest() {
			t.Errorf("%v: the random numbers do not repeat: this test tests nothing", scheme)
		}
		others := map[string]*opened{
			"another photo": stuck(photo, opt), "another word": stuck(word, opt), "another order": stuck(order, opt), "an image less": stuck(images[:19], opt),
		}
		for _, other := range cpar.Schemes() {
			if other != scheme {
				others[fmt.Sprint("as ", other)] = stuck(images, small(other))
			}
		}
		with := func(name string, change func(o *Options)) {
			o := opt
			change(&o)
			others[name] = stuck(images, o)
		}
		switch scheme {
		case cpar.SchemeCPAR:
			with("more trees", func(o *Options) { o.Trees++ })
			with("more lists", func(o *Options) { o.Lists++ })
			with("without lists", func(o *Options) { o.WithLists, o.Lists = false, 0 })
			with("other planes", func(o *Options) { o.Split = SplitOriginal })
			with("at nodes", func(o *Options) { o.Place = cpar.PlaceNode })
			with("other order ciphertexts", func(o *Options) { o.Order = OrderOPE })
		case cpar.SchemeIVF:
			with("more lists", func(o *Options) { o.Lists++ })
		case cpar.SchemeSealed:
			with("narrower blocks", func(o *Options) { o.Block = 64 })
		}
		with("by learning", func(o *Options) { o.Profile = profile.Learned })
		with("with probabilities", func(o *Options) { o.Ranker = rank.KindCalibrated })
		with("of fewer numbers", func(o *Options) { o.PCA = 64 })
		for name, other := range others {
			if other.ID() == first.ID() {
				t.Errorf("%v, %s: the index has the same id", scheme, name)
			}
			apart(t, fmt.Sprintf("%v, %s", scheme, name), first, other)
		}
	}
}

// TestUpdatesAreHedged repeats the random numbers. Generations with other
// photos or words, or equal ones at another generation number, must share no
// ciphertext.
func TestUpdatesAreHedged(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range growing {
		key, images := testKey(), madeImages(5, 2)
		images[4].Keywords = nil // removing it changes no keyword
		opt := small(scheme)
		opt.testOnlyRand = syntheticphotos.Stuck{}
		_, folder := build(t, key, images, opt)
		before := look(t, key, folder)
		after := func(works ...func(u *updater) error) *opened {
			t.Helper()
			fork := copyFolder(t, folder)
			for _, work := range works {
				if _, err := update(key, fork, "testing", UpdateOptions{testOnlyRand: syntheticphotos.Stuck{}}, work); err != nil {
					t.Fatal(err)
				}
			}
			return look(t, key, fork)
		}
		one, other, word := madeImages(1, 8), madeImages(1, 9), madeImages(1, 8)
		word[0].Keywords = []string{"kind 1", "word 1"}
		add := func(images []Photo) func(u *updater) error {
			return adding(ctx, slices.Clone(images))
		}
		remove := func(u *updater) error { return u.remove(ctx, contentsOfAll(images[4:])) }
		compact := func(u *updater) error { return u.compact(ctx) }
		last := func(x *opened) []byte {
			v := x.of(cpar.SegmentVectors)
			return x.segments[v[len(v)-1].Digest]
		}

		a := after(add(one))
		if again := after(add(one)); again.Digest() != a.Digest() {
			t.Errorf("%v: the random numbers do not repeat: this test tests nothing", scheme)
		}
		stay := before.of(keptKinds...)
		apart(t, fmt.Sprint(scheme, ", another photo"), a, after(add(other)), append(stay, a.of(cpar.SegmentKeywords)...)...)
		apart(t, fmt.Sprint(scheme, ", a generation later"), a, after(remove, add(one)), stay...)
		// One photo is alone in the last unit of the same generation, at
		// different unit numbers.
		if p, q := after(add(madeImages(27, 3)), add(other)), after(add(madeImages(59, 3)), add(other)); p.sharesRun(last(p), last(q)) {
			t.Errorf("%v: one secret served two units", scheme)
		}
		apart(t, fmt.Sprint(scheme, ", nothing but a generation"), before, after(remove), stay...)
		apart(t, fmt.Sprint(scheme, ", compacted"), a, after(compact))
		compactOne, compactOther := after(add(one), compact), after(add(other), compact)
		if compactOne.ID() == compactOther.ID() || compactOne.Origin() != compactOther.Origin() {
			t.Errorf("%v: two states were compacted to indexes %v and %v", scheme, compactOne.ID(), compactOther.ID())
		}
		apart(t, fmt.Sprint(scheme, ", compacted from two states"), compactOne, compactOther)
		// The same photo with other words has the same vector.
		apart(t, fmt.Sprint(scheme, ", other words"), a, after(add(word)), a.of(cpar.SegmentVectors, cpar.SegmentHints, cpar.SegmentProfile, cpar.SegmentIdentities)...)
	}
}

func (x *opened) of(kinds ...cpar.SegmentKind) (list []cpar.Segment) {
	for _, s := range x.manifest.Segments {
		if slices.Contains(kinds, s.Kind) {
			list = append(list, s)
		}
	}
	return list
}

// TestRequestsAreHedged repeats the random numbers. Requests for different
// photos or on devices with other indexes must share nothing.
func TestRequestsAreHedged(t *testing.T) {
	for _, scheme := range cpar.Schemes() {
		if !scheme.CloudSearches() {
			continue
		}
		key := testKey()
		_, folder := build(t, key, madeImages(20, 2), small(scheme))
		x := held(t, key, folder)
		ask := func(photo Photo) []byte {
			t.Helper()
			// Each is another device with the same initial random numbers.
			o, err := open(key, x.manifest, x.fetch, syntheticphotos.Stuck{})
			if err == nil {
				err = o.Hold(x.manifest, x.segments)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, q, err := o.Request(photo.Vectors, o.DefaultParams())
			if err != nil {
				t.Fatal(err)
			}
			// Order ciphertexts are excluded, because they are deterministic.
			return wire.AppendWords(q.Opaque, q.Vector)
		}
		a, again, b := ask(madeImages(1, 8)[0]), ask(madeImages(1, 8)[0]), ask(madeImages(1, 9)[0])
		if !slices.Equal(a, again) || len(a) == 0 {
			t.Errorf("%v: the random numbers do not repeat: this test tests nothing", scheme)
		}
		if x.sharesRun(a, b) {
			t.Errorf("%v: requests for two photos share 12 bytes", scheme)
		}
	}
}
