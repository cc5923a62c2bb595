package user

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/durable/crash"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

var exactSchemes = []cpar.Scheme{cpar.SchemeSealed, cpar.SchemeLocal}

// findable are the keywords of every record that can be found, by their marks.
func (x *opened) findable() []string {
	x.t.Helper()
	var marks []string
	for _, n := range x.nearest(madeImages(1, 77)[0], 1000) {
		marks = append(marks, fmt.Sprint(n.Keywords))
	}
	slices.Sort(marks)
	return marks
}

// marked are images each of which has a keyword of its own.
func marked(n int, seed uint64, name string) []Image {
	images := madeImages(n, seed)
	for i := range images {
		images[i].Keywords = []string{fmt.Sprintf("%s %03d", name, i), "common"}
	}
	return images
}

func marks(lists ...[]Image) (out []string) {
	for _, images := range lists {
		for _, im := range images {
			words := slices.Clone(im.Keywords)
			out = append(out, fmt.Sprint(words))
		}
	}
	slices.Sort(out)
	return out
}

// rows are the quantised vectors of every record of a folder, removed ones too.
func rows(t testing.TB, key *Key, folder string) (out [][]int32) {
	t.Helper()
	_, err := update(folder, indexdir.Options{}, "reading", func(s *state) error {
		if err := s.open(key); err != nil {
			return err
		}
		return s.eachRecord(context.Background(), func(_ int, row []int32, _ int64) { out = append(out, row) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAddRemoveCompact(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range exactSchemes {
		key := NewKey()
		first, second, third := marked(35, 1, "first"), marked(3, 2, "second"), marked(33, 3, "third")
		_, folder := made(t, key, first, small(scheme))
		old := open(t, key, folder)
		before := map[cpar.Digest]bool{}
		for _, s := range old.manifest.Segments {
			before[s.Digest] = true
		}

		u, err := Add(ctx, key, folder, second, nil)
		if err != nil {
			t.Fatal(err)
		}
		x := open(t, key, folder)
		if u.ID != old.ID() || u.Generation != 2 || u.Records != 38 || u.Added != 3 || u.Removed != 0 {
			t.Errorf("%v: added: %+v", scheme, u)
		}
		var written uint64
		for _, s := range x.manifest.Segments {
			if !before[s.Digest] {
				written += s.Bytes
			}
		}
		if u.Bytes != written || written == 0 {
			t.Errorf("%v: %d bytes were written, reported are %d", scheme, written, u.Bytes)
		}
		for _, s := range old.manifest.Segments {
			if keeps := s.Kind == cpar.SegmentVectors || s.Kind == cpar.SegmentParams; slices.Contains(x.manifest.Segments, s) != keeps {
				t.Errorf("%v: %v of before is kept: %v", scheme, s.Kind, !keeps)
			}
		}
		if got, want := x.findable(), marks(first, second); !slices.Equal(got, want) {
			t.Fatalf("%v: after adding %v is found, want %v", scheme, got, want)
		}
		// What was added is found by itself, and the second device of before sees
		// another state.
		for _, im := range second {
			if n := x.nearest(im, 1)[0]; n.Dis > 0.025 || !slices.Equal(n.Keywords, im.Keywords) {
				t.Errorf("%v: a photo that was added is found as %+v", scheme, n)
			}
		}
		if err := old.CheckGeneration(x.Generation()); !errors.Is(err, cpar.ErrCloud) {
			t.Errorf("%v: an old state: %v", scheme, err)
		}
		if err := x.CheckGeneration(x.Generation()); err != nil {
			t.Error(err)
		}

		// A photo that is not in it, one that is, one that was added, one twice.
		if u, err = Remove(ctx, key, folder, third[:2]); err != nil || u.Removed != 0 || !slices.Equal(u.Missing, []int{0, 1}) || u.Generation != 2 || u.Bytes != 0 {
			t.Errorf("%v: removing what is not there: %+v, %v", scheme, u, err)
		}
		u, err = Remove(ctx, key, folder, []Image{first[34], second[1], second[1], third[0]})
		if err != nil || u.Removed != 2 || !slices.Equal(u.Missing, []int{3}) || u.Generation != 3 || u.Records != 36 {
			t.Fatalf("%v: removed: %+v, %v", scheme, u, err)
		}
		x = open(t, key, folder)
		left := marks(first[:34], second[:1], second[2:])
		if got := x.findable(); !slices.Equal(got, left) {
			t.Fatalf("%v: after removing %v is found, want %v", scheme, got, left)
		}
		if x.Records() != 36 || x.manifest.Records != 38 {
			t.Errorf("%v: %d and %d records", scheme, x.Records(), x.manifest.Records)
		}
		for i := range x.manifest.Records { // erased at once, not only passed over
			words, err := x.heldKeywords(x.exact.held.Load(), i)
			if err != nil || (len(words) == 0) != x.profile.exact.isRemoved(int(i)) {
				t.Errorf("%v: record %d has keywords %q, %v", scheme, i, words, err)
			}
		}
		if u, err := Remove(ctx, key, folder, []Image{first[34]}); err != nil || u.Removed != 0 || !slices.Equal(u.Missing, []int{0}) {
			t.Errorf("%v: removed twice: %+v, %v", scheme, u, err)
		}

		// The words of what was removed go with the compaction only.
		if !slices.Contains(x.Words(), "first 034") {
			t.Errorf("%v: the words before compacting are %q", scheme, x.Words())
		}
		u, err = Compact(ctx, key, folder)
		if err != nil || u.ID == old.ID() || u.Generation != 4 || u.Records != 36 || u.Removed != 2 {
			t.Fatalf("%v: compacted: %+v, %v", scheme, u, err)
		}
		x = open(t, key, folder)
		if x.Origin() != old.ID() || x.ID() == old.ID() || old.Origin() != old.ID() {
			t.Errorf("%v: the origin of %v, compacted from %v, is %v", scheme, x.ID(), old.ID(), x.Origin())
		}
		if got := x.findable(); !slices.Equal(got, left) || x.manifest.Records != 36 {
			t.Fatalf("%v: after compacting %v is found, want %v", scheme, got, left)
		}
		used := []string{"common"}
		for _, im := range slices.Concat(first[:34], second[:1], second[2:]) {
			used = append(used, im.Keywords[0])
		}
		slices.Sort(used)
		if !slices.Equal(x.Words(), used) {
			t.Errorf("%v: the words are %q, in use are %q", scheme, x.Words(), used)
		}
		// And on: the projection is the one of before.
		if u, err = Add(ctx, key, folder, third, nil); err != nil || u.Generation != 5 || u.Records != 69 {
			t.Fatalf("%v: added: %+v, %v", scheme, u, err)
		}
		x = open(t, key, folder)
		if got, want := x.findable(), marks(first[:34], second[:1], second[2:], third); !slices.Equal(got, want) {
			t.Fatalf("%v: after adding again %v is found, want %v", scheme, got, want)
		}
		if u, err = Remove(ctx, key, folder, first[:1]); err != nil || u.Removed != 1 {
			t.Errorf("%v: the projection of a compacted index is another: %+v, %v", scheme, u, err)
		}
	}
}

// TestUpdatesKeepTheOrderSecret: images are not added in the order given.
func TestUpdatesKeepTheOrderSecret(t *testing.T) {
	key := NewKey()
	_, folder := made(t, key, marked(2, 1, "first"), small(cpar.SchemeLocal))
	second := marked(40, 2, "second")
	if _, err := Add(context.Background(), key, folder, second, nil); err != nil {
		t.Fatal(err)
	}
	x := open(t, key, folder)
	same := 0
	for i, im := range second {
		words, err := x.heldKeywords(x.exact.held.Load(), uint32(2+i))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(words, im.Keywords) {
			same++
		}
	}
	if same > 15 { // 1 is expected
		t.Errorf("%d of 40 images stayed in their place", same)
	}
}

// TestRestoredBackup: adding the same image twice to the same state, the second
// time from a backup, uses no seed, nonce or noise again.
func TestRestoredBackup(t *testing.T) {
	for _, scheme := range exactSchemes {
		key := NewKey()
		_, folder := made(t, key, madeImages(5, 1), small(scheme))
		image := madeImages(1, 8)
		var states []*opened
		for range 2 {
			restored := copyFolder(t, folder)
			if _, err := Add(context.Background(), key, restored, image, nil); err != nil {
				t.Fatal(err)
			}
			states = append(states, look(t, key, restored))
		}
		a, b := states[0], states[1]
		if before := look(t, key, folder); a.Generation() != b.Generation() || a.State() == b.State() || before.State() == a.State() {
			t.Errorf("%v: forks of generations %d and %d have states %x and %x", scheme, a.Generation(), b.Generation(), a.State(), b.State())
		}
		if a.State() != look(t, key, a.folder).State() {
			t.Errorf("%v: one state is two", scheme)
		}
		compared := 0
		for i, s := range a.manifest.Segments {
			o := b.manifest.Segments[i]
			if s.Digest == o.Digest && (s.Kind == cpar.SegmentParams || s.Kind == cpar.SegmentVectors && i == 0) {
				continue // what both had before
			}
			compared++
			if sharesRun(a.segments[s.Digest], b.segments[o.Digest], 24) {
				t.Errorf("%v: two additions to one state have 16 bytes of %v in common", scheme, s.Kind)
			}
		}
		if want := len(a.manifest.Segments) - 1; compared < want-1 {
			t.Errorf("%v: only %d segments were compared", scheme, compared)
		}
		if scheme == cpar.SchemeSealed {
			// The reply of one fork is refused by the owner of the other, though the
			// generations are equal: also when the cloud lies about the state.
			a = open(t, key, a.folder)
			pending, q, err := a.Request(image[0].Vectors, a.params(3))
			if err != nil {
				t.Fatal(err)
			}
			r := b.answer(b.cloud(), q.Opaque)
			if _, err := pending.Neighbours(a.reply(r)); !errors.Is(err, cpar.ErrCloud) {
				t.Errorf("the reply of another fork: %v", err)
			}
			r.State = a.answer(a.cloud(), q.Opaque).State
			if _, err := pending.Neighbours(a.reply(r)); !errors.Is(err, cpar.ErrCloud) {
				t.Errorf("the reply of another fork under the right state: %v", err)
			}
		}
	}
}

// TestCompactKeepsVectors: what is encrypted again is what was there, under
// another id, in another order, with no ciphertext in common.
func TestCompactKeepsVectors(t *testing.T) {
	for _, scheme := range exactSchemes {
		key := NewKey()
		_, folder := made(t, key, madeImages(40, 1), small(scheme))
		backup := copyFolder(t, folder)
		if _, err := Compact(context.Background(), key, folder); err != nil {
			t.Fatal(err)
		}
		before, after := rows(t, key, backup), rows(t, key, folder)
		if slices.EqualFunc(before, after, slices.Equal) {
			t.Errorf("%v: the order stayed", scheme)
		}
		slices.SortFunc(before, slices.Compare)
		slices.SortFunc(after, slices.Compare)
		if !slices.EqualFunc(before, after, slices.Equal) {
			t.Errorf("%v: the vectors did not stay", scheme)
		}
		a, b := look(t, key, backup), look(t, key, folder)
		for i, s := range a.manifest.Segments {
			if o := b.manifest.Segments[i]; s.Kind != cpar.SegmentParams && sharesRun(a.segments[s.Digest], b.segments[o.Digest], 24) {
				t.Errorf("%v: %v has 16 bytes of before", scheme, s.Kind)
			}
		}
	}
}

func TestUpdatesRefuse(t *testing.T) {
	ctx := context.Background()
	key := NewKey()
	one := madeImages(1, 1)
	_, capia := made(t, key, one, small(cpar.SchemeCAPIA))
	_, sealed := made(t, key, one, small(cpar.SchemeSealed))
	many := madeImages(1, 2)
	for i := range 32 {
		many[0].Keywords = append(many[0].Keywords, fmt.Sprint(i))
	}
	absent := filepath.Join(t.TempDir(), "absent")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		run  func() error
		want error
	}{
		"add to capia":       {func() error { _, err := Add(ctx, key, capia, one, nil); return err }, cpar.ErrInput},
		"compact capia":      {func() error { _, err := Compact(ctx, key, capia); return err }, cpar.ErrInput},
		"add nothing":        {func() error { _, err := Add(ctx, key, sealed, nil, nil); return err }, cpar.ErrInput},
		"remove nothing":     {func() error { _, err := Remove(ctx, key, sealed, nil); return err }, cpar.ErrInput},
		"remove all":         {func() error { _, err := Remove(ctx, key, sealed, one); return err }, cpar.ErrInput},
		"too many keywords":  {func() error { _, err := Add(ctx, key, sealed, many, nil); return err }, cpar.ErrInput},
		"no index":           {func() error { _, err := Add(ctx, key, absent, one, nil); return err }, cpar.ErrInput},
		"another key":        {func() error { _, err := Add(ctx, NewKey(), sealed, one, nil); return err }, cpar.ErrKey},
		"stopped":            {func() error { _, err := Add(stopped, key, sealed, one, nil); return err }, context.Canceled},
		"compacting stopped": {func() error { _, err := Compact(stopped, key, sealed); return err }, context.Canceled},
	} {
		if err := c.run(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := os.Stat(absent); err == nil {
		t.Error("a folder was made")
	}
	if x := open(t, key, sealed); x.Generation() != 1 || x.manifest.Records != 1 {
		t.Errorf("what was refused left generation %d with %d records", x.Generation(), x.manifest.Records)
	}
	// A damaged group is not compacted into an index that looks whole.
	m, err := indexdir.ReadManifest(sealed)
	if err != nil {
		t.Fatal(err)
	}
	path := indexdir.SegmentPath(sealed, m.Segments[0].Digest)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(ctx, key, sealed); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("a damaged group: %v", err)
	}
}

// TestInterruptedUpdate: cut at any step, the folder holds the state before or
// the one after, whole, and takes the next write.
func TestInterruptedUpdate(t *testing.T) {
	for _, scheme := range exactSchemes {
		t.Run(scheme.String(), func(t *testing.T) {
			key := NewKey()
			_, folder := made(t, key, madeImages(3, 1), small(scheme))
			added := madeImages(1, 5)
			crash.Each(t,
				func(root string) {
					if err := os.CopyFS(filepath.Join(root, "x"), os.DirFS(folder)); err != nil {
						t.Fatal(err)
					}
				},
				func(fsys durable.FS, root string) error {
					_, err := update(filepath.Join(root, "x"), indexdir.Options{FS: fsys}, "adding", func(s *state) error {
						return s.add(context.Background(), key, added, nil)
					})
					return err
				},
				func(t *testing.T, root string, done bool) {
					folder := filepath.Join(root, "x")
					x := open(t, key, folder)
					n := len(x.findable())
					if g := x.Generation(); done && g != 2 || n != int(g)+2 {
						t.Fatalf("done %v: generation %d with %d records", done, g, n)
					}
					writable(t, folder)
				})
		})
	}
}

// writable is whether the next update or build may write to folder.
func writable(t *testing.T, folder string) {
	t.Helper()
	dir, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatalf("writing again: %v", err)
	}
	dir.Close()
}

// TestInterruptedBuild: a first build that is cut at any step leaves a whole index
// or none, and a folder that can be built in.
func TestInterruptedBuild(t *testing.T) {
	for _, scheme := range exactSchemes {
		t.Run(scheme.String(), func(t *testing.T) {
			key, images := NewKey(), madeImages(2, 1)
			crash.Each(t,
				func(string) {},
				func(fsys durable.FS, root string) error {
					b, err := Setup(context.Background(), key, images, small(scheme))
					if err != nil {
						t.Fatal(err)
					}
					_, err = b.encrypt(context.Background(), filepath.Join(root, "x"), indexdir.Options{FS: fsys})
					return err
				},
				func(t *testing.T, root string, done bool) {
					folder := filepath.Join(root, "x")
					_, err := indexdir.ReadManifest(folder)
					switch {
					case err == nil:
						if x := open(t, key, folder); x.Records() != len(images) {
							t.Fatalf("an index of %d records", x.Records())
						}
					case done || !errors.Is(err, indexdir.ErrNoIndex):
						t.Fatalf("done %v: %v", done, err)
					}
					writable(t, folder)
				})
		})
	}
}

// TestUpdatesEndBeforeNoncesRepeat: what has sealed 2³² blocks of keywords takes
// no update but Compact, and then others again.
func TestUpdatesEndBeforeNoncesRepeat(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range exactSchemes {
		key := NewKey()
		_, folder := made(t, key, madeImages(3, 1), small(scheme))
		// Records times generations are one below the limit.
		_, err := update(folder, indexdir.Options{}, "ageing", func(s *state) error {
			if err := s.open(key); err != nil {
				return err
			}
			if err := s.begin(key, func(p *profile) error { p.exact.generation = maxKeywordBlocks / 3; return nil }); err != nil {
				return err
			}
			return s.next.write(ctx, records{}, s.keywords)
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]func() (*Update, error){
			"Add":    func() (*Update, error) { return Add(ctx, key, folder, madeImages(1, 5), nil) },
			"Remove": func() (*Update, error) { return Remove(ctx, key, folder, madeImages(1, 1)) },
		} {
			if _, err := f(); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "compact") {
				t.Errorf("%v: %s: %v; %s", scheme, name, err, hint.Of(err))
			}
		}
		u, err := Compact(ctx, key, folder)
		if err != nil || u.Generation != maxKeywordBlocks/3+1 {
			t.Fatalf("%v: compacted: %+v, %v", scheme, u, err)
		}
		if u, err = Add(ctx, key, folder, madeImages(1, 5), nil); err != nil || u.Records != 4 {
			t.Errorf("%v: after compacting: %+v, %v", scheme, u, err)
		}
	}
	// Nothing wraps in the count.
	p := &profile{records: cpar.MaxRecords, exact: &exactProfile{generation: math.MaxUint64, begun: 1}}
	if err := p.checkNonces(); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("2²⁷ records 2⁶⁴ times: %v", err)
	}
	p.exact.generation = 32
	if err := p.checkNonces(); err != nil {
		t.Errorf("2³² blocks: %v", err)
	}
	if p.exact.generation++; p.checkNonces() == nil {
		t.Error("more than 2³² blocks")
	}
}

// TestManyUpdates holds random updates against a list of images.
func TestManyUpdates(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range exactSchemes {
		rng := rand.New(rand.NewPCG(4, uint64(scheme)))
		key := NewKey()
		have := marked(4, 100, "begin")
		_, folder := made(t, key, have, small(scheme))
		seen := uint64(1)
		for round := range 8 {
			var u *Update
			var err error
			switch {
			case round%4 == 3:
				u, err = Compact(ctx, key, folder)
			case rng.IntN(2) == 0 || len(have) < 4:
				more := marked(1+rng.IntN(3), uint64(200+round), fmt.Sprint("round ", round))
				u, err = Add(ctx, key, folder, more, nil)
				have = append(have, more...)
			default:
				at := rng.IntN(len(have))
				u, err = Remove(ctx, key, folder, have[at:at+1])
				have = slices.Delete(have, at, at+1)
			}
			if err != nil {
				t.Fatal(err)
			}
			x := open(t, key, folder)
			if got, want := x.findable(), marks(have); !slices.Equal(got, want) || u.Records != len(have) {
				t.Fatalf("%v, round %d: %v, want %v", scheme, round, got, want)
			}
			if err := x.CheckGeneration(seen + 1); err != nil {
				t.Fatal(err)
			}
			seen = x.Generation()
		}
	}
}
