package user

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/model/profile"
)

// sent returns the segments that an update wrote, as the server sees them.
func sent(t testing.TB, key *Key, folder string, work func(u *updater) error) (list []cpar.Segment, m *cpar.Manifest) {
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

// TestUpdatesLookAlike checks that renaming, changed keywords, new words and
// removals have equal segment numbers and lengths.
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
			list, m := sent(t, key, copyFolder(t, folder), func(u *updater) error { return u.change(ctx, c) })
			seen := fmt.Sprint(len(m.Segments))
			for _, s := range list {
				seen += fmt.Sprint(" ", s.Kind, s.Bytes)
				if s.Kind == cpar.SegmentVectors || s.Kind == cpar.SegmentHints {
					t.Errorf("%v, %s: it writes %v", scheme, name, s.Kind)
				}
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

// TestKeywordsOfFullPages checks updates of an index with several pages on
// another device.
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
		if _, err := update(key, folder, "testing", UpdateOptions{}, func(u *updater) error { return u.change(ctx, c) }); err != nil {
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
	tagged := len(words) - len(slices.DeleteFunc(slices.Clone(words), func(list []string) bool { return len(list) > 0 }))
	if got, n := x.scheme.Count(); fmt.Sprint(got) != fmt.Sprint(want) || n != tagged {
		t.Errorf("the words are counted differently, or %d photos of %d", n, tagged)
	}
}

// TestOnePhotoSendsLittle checks that an addition to 100,000 records of at most
// 96 numbers pushes less than 128 KiB, and that a device with the previous
// generation fetches less. It sends the last group with its hint or the last
// block, and the bitmap of removed records, even if it fills a group. The one
// photo in 256 that fills a page pushes up to 5 KiB more from update 257 on, and
// the 41 before it 1 KiB from 513 on. From 1,025 on, all exceed the bound.
func TestOnePhotoSendsLittle(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range growing {
		key, images := testKey(), madeEmbedded(702, 1)
		few := small(scheme)
		few.Profile = profile.Network
		_, folder := build(t, key, images[:700], few)
		list, _ := sent(t, key, folder, adding(ctx, images[700:701]))
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
		pushed, fetched := moved(look(t, key, folder), list)
		_, before := sent(t, key, folder, adding(ctx, images[701:702]))
		again, m := sent(t, key, folder, adding(ctx, madeEmbedded(8, 10)))
		ledger := again[slices.IndexFunc(again, func(s cpar.Segment) bool { return s.Kind == cpar.SegmentLedger })].Bytes
		if ledger != size[cpar.SegmentLedger]+1 || len(m.Segments) > len(before.Segments)+2 {
			t.Errorf("%v: eight records and two states before more make a ledger of %d bytes one of %d", scheme, size[cpar.SegmentLedger], ledger)
		}
		// 100,000 records add only the bitmap and the ancestors, here of a
		// thousand updates.
		more := uint64((100_000-701)/8 + (1024-minAncestors)*ancestorBytes)
		pushed, fetched = pushed+more, fetched+more
		const most = 128 << 10
		if pushed > most || fetched > most {
			t.Errorf("%v: a photo added to 100,000 pushes %d bytes and refetches %d: %v", scheme, pushed, fetched, size)
		}
		rest := pushed - size[cpar.SegmentIdentities]
		if pushed = rest + 28 + 255*cpar.IdentityBytes; pushed > most+1<<10 {
			t.Errorf("%v: a photo before a full page pushes %d bytes", scheme, pushed)
		}
		page := uint64(cpar.KeywordPageBytes(8))
		if pushed, fetched = rest+28+256*cpar.IdentityBytes+page, fetched+page; pushed > most+5<<10 || fetched > most {
			t.Errorf("%v: a photo that fills a page pushes %d bytes and refetches %d", scheme, pushed, fetched)
		}
		if pushed -= (1024 - 256) * ancestorBytes; pushed > most {
			t.Errorf("%v: in the first 256 updates, a photo that fills a page pushes %d bytes", scheme, pushed)
		}
	}
}

// TestPhotoThatFillsAPageSendsLittle checks the cost of the photo that fills a group and a page
// of keywords: one group, one page, and its identities.
func TestPhotoThatFillsAPageSendsLittle(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range growing {
		key := testKey()
		_, folder := build(t, key, madeImages(255, 1), small(scheme))
		for page := range 3 {
			before := look(t, key, folder)
			group := before.of(cpar.SegmentVectors)[len(before.of(cpar.SegmentVectors))-1].Bytes
			list, m := sent(t, key, folder, adding(ctx, madeImages(1, uint64(9+page))))
			size := map[cpar.SegmentKind]uint64{}
			for _, s := range list {
				size[s.Kind] += s.Bytes
			}
			if want := uint64(m.KeywordBytes) + cpar.KeywordTailBytes(m.KeywordBytes); size[cpar.SegmentKeywords] != want || int(m.Records) != 256*(page+1) {
				t.Errorf("%v: page %d: %d bytes of keywords, want %d", scheme, page, size[cpar.SegmentKeywords], want)
			}
			if want := uint64(256*cpar.IdentityBytes + 28); size[cpar.SegmentIdentities] != want {
				t.Errorf("%v: page %d: %d bytes of identities, want %d", scheme, page, size[cpar.SegmentIdentities], want)
			}
			if size[cpar.SegmentVectors] != group {
				t.Errorf("%v: page %d: %d bytes of vectors, a group has %d", scheme, page, size[cpar.SegmentVectors], group)
			}
			if page < 2 {
				sent(t, key, folder, adding(ctx, madeImages(255, uint64(20+page))))
			}
		}
	}
}

// moved returns the bytes that the owner pushed and that a device with the
// previous generation fetches.
func moved(x *opened, written []cpar.Segment) (pushed, fetched uint64) {
	manifest := 92 + 41*uint64(len(x.manifest.Segments))
	pushed, fetched = manifest, manifest
	for _, s := range written {
		pushed += s.Bytes
		if slices.Contains(x.Needs(x.manifest), s) || s.Kind == cpar.SegmentLedger || s.Kind == cpar.SegmentProfile {
			fetched += s.Bytes
		}
	}
	return pushed, fetched
}

// BenchmarkOnePhotoAdded adds single photos to 100,000 records of 96 numbers.
// It reports the bytes pushed and fetched per addition and their maximum. With
// -benchtime 130x one fills a page of keywords.
func BenchmarkOnePhotoAdded(b *testing.B) {
	ctx := context.Background()
	key, few := testKey(), madeImages(400, 1)
	fit, err := profile.Fit(ctx, profile.Learned, Features(few), Keywords(few), profile.Options{})
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
		built := filepath.Join(b.TempDir(), "index")
		if _, err := s.Encrypt(ctx, built); err != nil {
			b.Fatal(err)
		}
		b.Run(scheme.String(), func(b *testing.B) {
			folder, n := copyFolder(b, built), uint64(0)
			var pushed, fetched, maxPushed, maxFetched uint64
			for b.Loop() {
				n++
				list, _ := sent(b, key, folder, adding(ctx, madeImages(1, n)))
				x := look(b, key, folder)
				pushed, fetched = moved(x, list)
				if n == 1 {
					for _, s := range list {
						b.Logf("%v: %d bytes", s.Kind, s.Bytes)
					}
				}
				maxPushed, maxFetched = max(maxPushed, pushed), max(maxFetched, fetched)
			}
			x := look(b, key, folder)
			b.ReportMetric(float64(pushed), "B-pushed")
			b.ReportMetric(float64(fetched), "B-fetched")
			b.ReportMetric(float64(maxPushed), "B-pushed-most")
			b.ReportMetric(float64(maxFetched), "B-fetched-most")
			kept := map[cpar.SegmentKind]uint64{}
			for _, s := range x.manifest.Segments {
				kept[s.Kind] += s.Bytes
			}
			b.ReportMetric(float64(kept[cpar.SegmentHints]), "B-hints")
			b.ReportMetric(float64(kept[cpar.SegmentKeywords]+kept[cpar.SegmentProfile]+kept[cpar.SegmentLedger]), "B-kept")
		})
	}
}
