package user

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/wordvector"
	"cpar/user/vocabulary"
)

func parsed(t testing.TB, arguments ...string) wordvector.Query {
	t.Helper()
	q, err := wordvector.Parse(arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// find searches an index for words through an honest server.
func (x *opened) find(arguments ...string) []Hit {
	x.t.Helper()
	s, err := x.SearchWords(parsed(x.t, arguments...), nil)
	if err != nil {
		x.t.Fatal(err)
	}
	pending, requests, err := s.Requests(true)
	if err != nil {
		x.t.Fatal(err)
	}
	var lists [][]rank.Neighbour
	for i, q := range requests {
		near, err := pending[i].Neighbours(x.answer(q))
		if err != nil {
			x.t.Fatal(err)
		}
		lists = append(lists, near)
	}
	hits, err := s.Hits(lists...)
	if err != nil {
		x.t.Fatal(err)
	}
	return hits
}

// TestWordsFindWhatTheTwinFinds compares the encrypted search with sums of
// plaintext rows, for each kind of query.
func TestWordsFindWhatTheTwinFinds(t *testing.T) {
	images := madeImages(60, 4)
	for _, scheme := range growing {
		key := testKey()
		b, folder := build(t, key, images, Options{Scheme: scheme, Profile: profile.Learned})
		plain, err := b.Twin()
		if err != nil {
			t.Fatal(err)
		}
		twin, _ := plain.Rows()
		x := held(t, key, folder)
		for text, weights := range map[string]map[string]float64{
			"'kind 0'":               {"kind 0": 1},
			"'Kind 1' 'word 2'":      {"kind 1": 1, "word 2": 1},
			"'kind 2'^3 -'word 1'":   {"kind 2": 3, "word 1": -1},
			"-'kind 1' 'word 0'^0.5": {"word 0": 0.5, "kind 1": -1},
			"Kind 1":                 {"kind 1": 1}, // the shell has removed the quotes
			"kind 2^3, -word 1":      {"kind 2": 3, "word 1": -1},
		} {
			query := make([]float64, b.Profile().Dimensions())
			for word, weight := range weights {
				sum, square := make([]float64, len(query)), 0.0
				for record := range images {
					if slices.Contains(images[b.PhotoOf(uint32(record))].Keywords, word) {
						row, _ := twin.Row(record)
						for k, v := range row {
							sum[k] += float64(v)
						}
					}
				}
				for _, v := range sum {
					square += v * v
				}
				for k, v := range sum {
					query[k] += weight * v / math.Sqrt(square)
				}
			}
			similarity := make([]float64, len(images))
			for record := range similarity {
				row, _ := twin.Row(record)
				inner, a, b := 0.0, 0.0, 0.0
				for k, v := range row {
					inner, a, b = inner+float64(v)*query[k], a+float64(v)*float64(v), b+query[k]*query[k]
				}
				similarity[record] = inner / math.Sqrt(a*b)
			}
			hits := x.find(strings.Split(strings.ReplaceAll(text, "'", `"`), ", ")...)
			if len(hits) != len(images) {
				t.Fatalf("%v, %s: %d hits", scheme, text, len(hits))
			}
			for i, h := range hits {
				if math.Abs(h.Similarity-similarity[h.Record]) > 0.02 {
					t.Errorf("%v, %s: record %d has similarity %.3f, the twin %.3f", scheme, text, h.Record, h.Similarity, similarity[h.Record])
				}
				if i > 0 && (h.Similarity > hits[i-1].Similarity || h.Probability > hits[i-1].Probability) {
					t.Errorf("%v, %s: hit %d is out of order", scheme, text, i)
				}
			}
		}
	}
}

// TestWordsLookLikePhotos checks that a request for words has the length and
// the visible parameters of a request for a photo.
func TestWordsLookLikePhotos(t *testing.T) {
	key, images := testKey(), madeImages(40, 1)
	_, folder := build(t, key, images, Options{Profile: profile.Learned})
	x := held(t, key, folder)
	_, photo, err := x.Request(images[3].Vectors, x.DefaultParams())
	if err != nil {
		t.Fatal(err)
	}
	want, err := photo.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var before []byte
	for _, text := range []string{`"kind 0"`, `"kind 0" "word 1"^2 -"word 2"`, `"kind 0"`} {
		s, err := x.SearchWords(parsed(t, text), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, requests, err := s.Requests(false)
		if err != nil {
			t.Fatal(err)
		}
		q := requests[0]
		got, err := q.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || q.Params != photo.Params || len(q.Vector) != len(photo.Vector) || x.sharesRun(got, want) || before != nil && x.sharesRun(got, before) {
			t.Errorf("%s: a request of %d bytes with %+v, for a photo %d bytes with %+v", text, len(got), q.Params, len(want), photo.Params)
		}
		before = got
	}
}

// freshSums computes the sums of all photos of an index from its decrypted
// rows.
func freshSums(t *testing.T, key *Key, folder string) (sums *wordvector.Sums) {
	t.Helper()
	_, err := update(key, folder, "testing", UpdateOptions{DryRun: true}, func(u *updater) error {
		sums = wordvector.NewSums(u.owner.ledger.rows.Dim())
		return u.rows.DecryptAll(context.Background(), u.segments(cpar.SegmentVectors), u.fetch, func(record int, row []int16, _ int64, removed bool) {
			if !removed {
				sums.Add(row, u.keywords[record])
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestUpdatesKeepWordVectors checks that the sums of an index follow additions,
// removals and new keywords exactly, also when they move into the profile.
func TestUpdatesKeepWordVectors(t *testing.T) {
	ctx := context.Background()
	for _, opt := range []Options{{Profile: profile.Learned}, {Profile: profile.Learned, Cells: 2}, {Profile: profile.Learned, Scheme: cpar.SchemeLocal}} {
		key := testKey()
		_, folder := build(t, key, madeImages(40, 1), opt)
		profileOf := func() cpar.Segment { return look(t, key, folder).of(cpar.SegmentProfile)[0] }
		first := profileOf()
		many := madeImages(150, 7)
		for i := range many {
			many[i].Keywords = []string{fmt.Sprint("rare ", i)}
		}
		for i, c := range []change{
			{add: madeImages(5, 2)},
			{remove: []int{1, 41}, keywords: map[int][]string{3: {"new", "kind 1"}, 42: nil}},
			{keywords: map[int][]string{3: {"newer"}}},
			{name: "another"},
			{add: many},
			{remove: []int{100}},
		} {
			if _, err := update(key, folder, "testing", UpdateOptions{}, func(u *updater) error { return u.change(ctx, c) }); err != nil {
				t.Fatal(err)
			}
			got := look(t, key, folder).ledger
			a, _ := got.sums().AppendBinary(nil)
			b, _ := freshSums(t, key, folder).AppendBinary(nil)
			if !slices.Equal(a, b) {
				t.Errorf("%+v, update %d: the sums differ from those of the records", opt, i)
			}
			if moved := profileOf() != first; moved != (i >= 4) {
				t.Errorf("%+v, update %d: the profile was written again: %v", opt, i, moved)
			}
		}
		if x := held(t, key, folder); len(x.find(`"newer"`)) == 0 {
			t.Error("a new keyword finds nothing")
		}
		if _, err := held(t, key, folder).SearchWords(parsed(t, "new"), nil); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("a word that no photo has any more: %v", err)
		}
		if _, err := Compact(ctx, key, folder, UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		a, _ := look(t, key, folder).ledger.sums().AppendBinary(nil)
		b, _ := freshSums(t, key, folder).AppendBinary(nil)
		if !slices.Equal(a, b) {
			t.Errorf("%+v: the compacted index has other sums than its records", opt)
		}
	}
}

func TestUnknownWordsAreRefusedWithSimilarOnes(t *testing.T) {
	key, images := testKey(), madeImages(40, 1)
	for i := range images {
		images[i].Keywords = append(images[i].Keywords, []string{"beach", "automobile", "long beach in winter"}[i%3])
	}
	v, err := vocabulary.Parse([]byte("[synonyms]\ncar = \"automobile\"\n\"long strand\" = \"long beach in winter\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, folder := build(t, key, images, Options{Profile: profile.Learned, Vocabulary: v})
	x := held(t, key, folder)
	_, err = x.SearchWords(parsed(t, "beech -xyzzy"), nil)
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), `"beech", "xyzzy"`) || !strings.Contains(hint.Of(err), `similar keywords: "beach"`) {
		t.Errorf("%v; %s", err, hint.Of(err))
	}
	_, err = x.SearchWords(parsed(t, "Winter in beach"), nil)
	if !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), `similar keywords: "long beach in winter"; or`) {
		t.Errorf("%v; %s", err, hint.Of(err))
	}
	for _, pair := range [][2]string{{"car", "automobile"}, {"long strand", `"long beach in winter"`}, {"beach car", `"beach" "car"`}} {
		if a, b := x.find(pair[0]), x.find(pair[1]); !slices.EqualFunc(a, b, func(a, b Hit) bool { return a.Record == b.Record }) {
			t.Errorf("%s and %s find different photos", pair[0], pair[1])
		}
	}
}

// TestIndexesWithoutVectorsSayWhy checks the errors of indexes that cannot be
// searched, and that compaction makes an index of an earlier version searchable.
func TestIndexesWithoutVectorsSayWhy(t *testing.T) {
	key := testKey()
	for _, c := range []struct {
		opt  Options
		want error
	}{
		{Options{Profile: profile.Paper, PCA: 128}, cpar.ErrInput},
		{Options{Profile: profile.Learned, Scheme: cpar.SchemeCAPIA}, cpar.ErrInput},
	} {
		if err := setUp(t, key, madeImages(30, 1), c.opt).CanSearch(); !errors.Is(err, c.want) || hint.Of(err) == "" {
			t.Errorf("%+v: %v", c.opt, err)
		}
	}
	b := setUp(t, key, madeImages(30, 1), Options{Profile: profile.Learned})
	b.ledger.search, b.ledger.rows = nil, nil // as read from an earlier version
	folder := t.TempDir()
	if _, err := b.Encrypt(context.Background(), folder); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(context.Background(), key, folder, madeImages(2, 3), nil); err != nil {
		t.Fatal(err)
	}
	if err := look(t, key, folder).CanSearch(); !errors.Is(err, cpar.ErrVersion) || !strings.Contains(hint.Of(err), "cpar compact") {
		t.Errorf("an earlier version: %v; %s", err, hint.Of(err))
	}
	if _, err := Compact(context.Background(), key, folder, UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if hits := held(t, key, folder).find(`"kind 0"`); len(hits) != 32 {
		t.Errorf("compacted: %d hits", len(hits))
	}
}
