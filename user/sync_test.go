package user

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/model/feature"
)

// syncing runs Sync with known features and counts the requested ones.
func syncing(t *testing.T, key *Key, folder string, images []Photo, o SyncOptions) (u *Update, asked int, err error) {
	t.Helper()
	o.Features = func(_ context.Context, _ *Owner, photos []int) (out []*feature.Vectors, err error) {
		asked += len(photos)
		for _, i := range photos {
			out = append(out, images[i].Vectors)
		}
		return out, nil
	}
	u, err = Sync(t.Context(), key, folder, images, o)
	return u, asked, err
}

func TestSync(t *testing.T) {
	for _, scheme := range growing {
		key := testKey()
		have := marked(20, 1, "first")
		_, folder := build(t, key, have, small(scheme))
		check := func(note string, images []Photo, o SyncOptions, want Update, wantAsked int) {
			t.Helper()
			before, err := indexdir.ReadManifest(folder)
			if err != nil {
				t.Fatal(err)
			}
			dry := o
			dry.DryRun = true
			foretold, asked, err := syncing(t, key, folder, images, dry)
			if err != nil || asked != wantAsked || foretold.Written {
				t.Fatalf("%v, %s, dry run: %+v, %d asked for; %v", scheme, note, foretold, asked, err)
			}
			if now, _ := indexdir.ReadManifest(folder); !slices.Equal(now.Segments, before.Segments) {
				t.Fatalf("%v, %s: a dry run has written", scheme, note)
			}
			u, asked, err := syncing(t, key, folder, images, o)
			if err != nil || asked != wantAsked {
				t.Fatalf("%v, %s: %d asked for; %v", scheme, note, asked, err)
			}
			got := [...]int{u.Added, u.Changed, u.Unchanged, u.Removed, u.Records}
			if got != [...]int{want.Added, want.Changed, want.Unchanged, want.Removed, want.Records} || u.Written != (u.Bytes > 0) {
				t.Errorf("%v, %s: %+v", scheme, note, u)
			}
			if f := [...]int{foretold.Added, foretold.Changed, foretold.Unchanged, foretold.Removed, foretold.Records}; f != got || foretold.Bytes != u.Bytes || foretold.Generation != u.Generation {
				t.Errorf("%v, %s: predicted %+v, done %+v", scheme, note, foretold, u)
			}
			if now, _ := indexdir.ReadManifest(folder); !u.Written != slices.Equal(now.Segments, before.Segments) {
				t.Errorf("%v, %s: written %v", scheme, note, u.Written)
			}
			if got := held(t, key, folder).findable(); !slices.Equal(got, marks(have)) {
				t.Fatalf("%v, %s: %v is found, want %v", scheme, note, got, marks(have))
			}
		}
		check("all as it is", have, SyncOptions{}, Update{Unchanged: 20, Records: 20}, 0)
		some := slices.Clone(have[:3])
		some[1].Keywords = []string{"common", some[1].Keywords[0]} // in another order
		check("some of it", some, SyncOptions{}, Update{Unchanged: 3, Records: 20}, 0)

		fresh := marked(4, 2, "second")
		have = append(have, fresh[:2]...)
		copied := fresh[1]
		check("new ones, one twice", append(slices.Clone(fresh[:2]), copied), SyncOptions{}, Update{Added: 2, Records: 22}, 2)

		have[5].Keywords = []string{"another", "common"}
		check("other keywords", have, SyncOptions{}, Update{Changed: 1, Unchanged: 21, Records: 22}, 0)
		if !slices.Contains(look(t, key, folder).Keywords(), "first 005") {
			t.Errorf("%v: the numbers of words tell what has changed", scheme)
		}

		have = append(have[:4:4], have[6:]...)
		check("fewer", have, SyncOptions{RemoveMissing: true}, Update{Unchanged: 20, Removed: 2, Records: 20}, 0)
		check("fewer, again", have, SyncOptions{RemoveMissing: true}, Update{Unchanged: 20, Records: 20}, 0)

		_, _, err := syncing(t, key, folder, have[:9], SyncOptions{RemoveMissing: true})
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "--yes") {
			t.Errorf("%v: most removed: %v", scheme, err)
		}
		if _, _, err = syncing(t, key, folder, nil, SyncOptions{RemoveMissing: true, AllowMajority: true}); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v: all removed: %v", scheme, err)
		}
		have = have[:9]
		check("most, on purpose", have, SyncOptions{RemoveMissing: true, AllowMajority: true}, Update{Unchanged: 9, Removed: 11, Records: 9}, 0)

		// A removed photo returns as a new one. Another device and a compacted
		// index recognise the photos.
		have = append(have, fresh[0])
		check("back again", have, SyncOptions{}, Update{Added: 1, Unchanged: 9, Records: 10}, 1)
		if u, err := Compact(t.Context(), key, folder, UpdateOptions{DryRun: true}); err != nil || u.Written || u.Records != 10 || u.Removed != 13 {
			t.Errorf("%v: compacting, dry: %+v, %v", scheme, u, err)
		} else if done, err := Compact(t.Context(), key, folder, UpdateOptions{}); err != nil || !done.Written || done.Bytes != u.Bytes || done.Removed != 13 {
			t.Errorf("%v: compacted: %+v, predicted %+v; %v", scheme, done, u, err)
		}
		check("compacted", have, SyncOptions{RemoveMissing: true}, Update{Unchanged: 10, Records: 10}, 0)
		if _, err := Rename(t.Context(), key, folder, "holidays", UpdateOptions{}); err != nil || look(t, key, folder).Name() != "holidays" {
			t.Errorf("%v: renamed: %v", scheme, err)
		}
		if u, err := Rename(t.Context(), key, folder, "holidays", UpdateOptions{}); err != nil || u.Written {
			t.Errorf("%v: renamed to its own name: %+v, %v", scheme, u, err)
		}
		check("renamed", have, SyncOptions{}, Update{Unchanged: 10, Records: 10}, 0)
	}
}

func TestUnusablePhotosAreNotAdded(t *testing.T) {
	key := testKey()
	have := marked(5, 1, "first")
	_, folder := build(t, key, have, small(cpar.SchemeLocal))
	broken := append(slices.Clone(have), marked(1, 2, "broken")...)
	broken[5].Vectors = nil
	if u, asked, err := syncing(t, key, folder, broken, SyncOptions{}); err != nil || asked != 1 || u.Added != 0 || u.Written || u.Unchanged != 5 {
		t.Errorf("%+v, %d asked for, %v", u, asked, err)
	}
}

func TestSyncAddsPhotosWithoutContent(t *testing.T) {
	key := testKey()
	have := marked(4, 1, "first")
	for i := range have {
		have[i].Content = [32]byte{}
	}
	_, folder := build(t, key, have, small(cpar.SchemeLocal))
	if u, _, err := syncing(t, key, folder, have[:2], SyncOptions{}); err != nil || u.Added != 2 || u.Records != 6 {
		t.Errorf("%+v, %v", u, err)
	}
	if u, err := Remove(t.Context(), key, folder, contentsOfAll(have), UpdateOptions{}); err != nil || u.Removed != 0 || len(u.Missing) != 4 {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestDistinct(t *testing.T) {
	a, b := [32]byte{1}, [32]byte{2}
	var many []string
	for i := range 31 {
		many = append(many, string(rune('a'+i)))
	}
	keywords, first := Distinct([]Photo{
		{Content: a, Keywords: []string{"sea", "sky"}}, {Keywords: []string{"none"}}, {Content: b, Keywords: many},
		{Content: a, Keywords: []string{"sky", "dog"}}, {Keywords: []string{"none"}}, {Content: b, Keywords: []string{"one more"}},
	})
	if !slices.Equal(first, []int{0, 1, 2, 0, 4, 2}) || !slices.Equal(keywords[0], []string{"sea", "sky", "dog"}) || !slices.Equal(keywords[2], many) || len(keywords[4]) != 1 {
		t.Errorf("%v, %q", first, keywords)
	}
}

func TestNames(t *testing.T) {
	for _, good := range []string{"family", "Familie Müller", "2019", strings.Repeat("a", 64)} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", " family", "family ", "a\nb", "a\x1b[1m", "\xff", strings.Repeat("a", 65), cpar.IndexID{1}.String()} {
		if err := CheckName(bad); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v", bad, err)
		}
		if bad != "" {
			if err := (Options{Name: bad}).Check(); !errors.Is(err, cpar.ErrInput) {
				t.Errorf("built as %q: %v", bad, err)
			}
		}
	}
	key, opt := testKey(), small(cpar.SchemeSealed)
	opt.Name = "family"
	_, folder := build(t, key, madeImages(3, 1), opt)
	x := look(t, key, folder)
	if x.Name() != "family" {
		t.Errorf("called %q", x.Name())
	}
}
