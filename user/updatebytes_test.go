package user

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/user/profile"
)

// sent are the segments that an update of an index wrote, as far as a cloud sees them.
func sent(t testing.TB, key *Key, folder string, work func(u *updating) error) (list []cpar.Segment, m *cpar.Manifest) {
	t.Helper()
	before, err := indexdir.ReadManifest(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := update(key, folder, "testing", UpdateOptions{}, work); err != nil {
		t.Fatal(err)
	}
	if m, err = indexdir.ReadManifest(folder); err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Segments {
		if !slices.Contains(before.Segments, s) {
			list = append(list, s)
		}
	}
	return list, m
}

// TestUpdatesLookAlike: to a cloud, which sees which segments are new and how long they are,
// another name, other keywords, wherever the record stands, new words, and photos that are
// removed are one and the same.
func TestUpdatesLookAlike(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range growing {
		key, images := testKey(), madeImages(300, 1)
		_, folder := build(t, key, images, small(scheme))
		want := ""
		for name, c := range map[string]change{
			"another name":                {name: "another"},
			"keywords in a full page":     {keywords: map[int][]string{3: {"word 1"}}},
			"keywords in the tail":        {keywords: map[int][]string{299: {"word 1", "word 2", "kind 1", "kind 2"}}},
			"many keywords, and new ones": {keywords: map[int][]string{0: {"new"}, 7: {"newer", "word 1"}, 100: nil, 255: {"word 2"}, 256: {"newest"}}},
			"a photo removed":             {remove: []int{17}},
			"photos removed":              {remove: []int{0, 1, 2, 3, 255, 256, 299}},
		} {
			list, m := sent(t, key, copyFolder(t, folder), func(u *updating) error { return u.change(ctx, c) })
			seen := fmt.Sprint(len(m.Segments))
			for _, s := range list {
				seen += fmt.Sprint(" ", s.Kind, s.Bytes)
			}
			if want == "" {
				want = seen
			}
			if seen != want {
				t.Errorf("%v, %s: the cloud sees %s; after another update %s", scheme, name, seen, want)
			}
		}
	}
}

// TestKeywordsOfFullPages: what is changed, removed and added in an index of several pages is
// what another device finds, and that removed records say nothing.
func TestKeywordsOfFullPages(t *testing.T) {
	ctx := context.Background()
	key, images := testKey(), marked(520, 1, "first")
	_, folder := build(t, key, images, small(cpar.SchemeLocal))
	words := keywordsIn(t, key, folder)
	for round, c := range []change{
		{keywords: map[int][]string{3: {"other", "common"}, 519: nil}, remove: []int{5, 515}},
		{add: marked(1, 2, "second"), keywords: map[int][]string{3: nil, 300: {"new"}}},
		{add: marked(255, 3, "third"), remove: []int{300}},
	} {
		for record, list := range c.keywords {
			words[record] = list
		}
		for _, record := range c.remove {
			words[record] = nil
		}
		if _, err := update(key, folder, "testing", UpdateOptions{}, func(u *updating) error { return u.change(ctx, c) }); err != nil {
			t.Fatal(err)
		}
		got := keywordsIn(t, key, folder)
		for _, im := range c.add { // in random order
			at := slices.IndexFunc(got, func(list []string) bool { return slices.Equal(list, im.Keywords) })
			if at < len(words) {
				t.Errorf("round %d: %q is record %d", round, im.Keywords, at)
			}
		}
		if len(got) != len(words)+len(c.add) || !slices.EqualFunc(got[:len(words)], words, slices.Equal[[]string]) {
			t.Fatalf("round %d: other keywords than before", round)
		}
		words = got
	}
	x := held(t, key, folder)
	if x.Records() != 520+256-3 || len(x.of(cpar.SegmentKeywords)) != 3 || len(x.of(cpar.SegmentIdentities)) != 3 {
		t.Errorf("%d records, keywords in %v, identities in %v", x.Records(), x.of(cpar.SegmentKeywords), x.of(cpar.SegmentIdentities))
	}
	want := map[string]int{}
	for _, list := range words {
		for _, w := range list {
			want[w]++
		}
	}
	if got := x.scheme.(counting).Count(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("the words are counted otherwise")
	}
}

// headBytes is what one added photo sends besides what belongs to the vectors: keywords,
// ledger, identities, and the manifest.
func headBytes(list []cpar.Segment, m *cpar.Manifest) (bytes uint64) {
	for _, s := range list {
		if s.Kind == cpar.SegmentKeywords || s.Kind == cpar.SegmentLedger || s.Kind == cpar.SegmentIdentities || s.Kind == cpar.SegmentProfile {
			bytes += s.Bytes
		}
	}
	return bytes + 92 + 41*uint64(len(m.Segments)) // the manifest
}

// TestOnePhotoSendsLittle: what an addition sends, besides what is said of vectors, grows with
// the records by a bit each, that says which were removed: with 100,000 it is less than
// 45 kB, and what a device fetches is less by the identities.
func TestOnePhotoSendsLittle(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range growing {
		key := testKey()
		_, folder := build(t, key, madeImages(700, 1), small(scheme))
		list, m := sent(t, key, folder, adding(ctx, madeImages(1, 9)))
		size := map[cpar.SegmentKind]uint64{}
		for _, s := range list {
			size[s.Kind] += s.Bytes
		}
		if want := cpar.KeywordTailBytes(cpar.KeywordPageBytes(8)); size[cpar.SegmentKeywords] != want || size[cpar.SegmentProfile] != 0 {
			t.Errorf("%v: keywords of %d bytes were sent, want %d; %v", scheme, size[cpar.SegmentKeywords], want, size)
		}
		if want := uint64(28 + 189*cpar.IdentityBytes); size[cpar.SegmentIdentities] != want {
			t.Errorf("%v: identities of %d bytes were sent, want %d", scheme, size[cpar.SegmentIdentities], want)
		}
		again, _ := sent(t, key, folder, adding(ctx, madeImages(8, 10)))
		ledger := again[slices.IndexFunc(again, func(s cpar.Segment) bool { return s.Kind == cpar.SegmentLedger })].Bytes
		if ledger != size[cpar.SegmentLedger]+1+32 {
			t.Errorf("%v: eight records and a state before more make a ledger of %d bytes one of %d", scheme, size[cpar.SegmentLedger], ledger)
		}
		// With 100,000 records only these are more: their bits, the states before, and the
		// identities of a page that is nearly full.
		got := headBytes(list, m) + 100_000/8 + (PastStates-1)*32 + (256-189)*cpar.IdentityBytes
		own, err := look(t, key, folder).scheme.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got -= uint64(len(own)) // the bits of these few, and the sums that check sealed replies
		if got > 45_000 {
			t.Errorf("%v: a photo added to 100,000 sends %d bytes besides its vector", scheme, got)
		}
		// A page that becomes full has a recent one with it, and so have its identities.
		if got += 2 * (uint64(cpar.KeywordPageBytes(8)) + 256*cpar.IdentityBytes); got > 64_000 {
			t.Errorf("%v: a photo that fills a page sends %d bytes besides its vector", scheme, got)
		}
	}
}

// BenchmarkOnePhotoAdded to 100,000 records of 96 numbers: bytes pushed, and fetched by a
// device that had the state before, of all and without those of the vectors.
func BenchmarkOnePhotoAdded(b *testing.B) {
	ctx := context.Background()
	key, few := testKey(), madeImages(400, 1)
	fit, err := profile.Fit(ctx, profile.Learned, features(few), Keywords(few), profile.Options{})
	if err != nil {
		b.Fatal(err)
	}
	images := slices.Repeat(few, 250)
	for i := range images {
		images[i].Content = [32]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}
	}
	for _, scheme := range growing {
		s, err := Setup(ctx, key, images, Options{Scheme: scheme, Fitted: fit})
		if err != nil {
			b.Fatal(err)
		}
		folder := filepath.Join(b.TempDir(), "index")
		if _, err := s.Encrypt(ctx, folder); err != nil {
			b.Fatal(err)
		}
		b.Run(scheme.String(), func(b *testing.B) {
			var list []cpar.Segment
			var m *cpar.Manifest
			for b.Loop() {
				list, m = sent(b, key, folder, adding(ctx, madeImages(1, 9)))
			}
			x := look(b, key, folder)
			pushed, fetched := 92+41*len(m.Segments), 92+41*len(m.Segments)
			for _, s := range list {
				pushed += int(s.Bytes)
				if slices.Contains(x.Needs(m), s) || s.Kind == cpar.SegmentLedger || s.Kind == cpar.SegmentProfile {
					fetched += int(s.Bytes)
				}
				b.Logf("%v: %d bytes", s.Kind, s.Bytes)
			}
			b.ReportMetric(float64(pushed), "B-pushed")
			b.ReportMetric(float64(fetched), "B-fetched")
			b.ReportMetric(float64(headBytes(list, m)), "B-head")
			kept := 0
			for _, s := range x.of(cpar.SegmentKeywords, cpar.SegmentProfile, cpar.SegmentLedger) {
				kept += int(s.Bytes)
			}
			b.ReportMetric(float64(kept), "B-kept") // of keywords, profile and ledger
		})
	}
}
