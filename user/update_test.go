package user

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
)

// findable returns the keywords of every live record.
func (x *opened) findable() []string {
	x.t.Helper()
	var marks []string
	for _, n := range x.nearest(madeImages(1, 77)[0], 1000) {
		marks = append(marks, fmt.Sprint(n.Keywords))
	}
	slices.Sort(marks)
	return marks
}

// marked returns photos with one unique keyword each.
func marked(n int, seed uint64, name string) []Photo {
	images := madeImages(n, seed)
	for i := range images {
		images[i].Keywords = []string{fmt.Sprintf("%s %03d", name, i), "common"}
	}
	return images
}

func marks(lists ...[]Photo) (out []string) {
	for _, images := range lists {
		for _, im := range images {
			words := slices.Clone(im.Keywords)
			out = append(out, fmt.Sprint(words))
		}
	}
	slices.Sort(out)
	return out
}

func vectorsIn(t testing.TB, key *Key, folder string) (out [][]int16) {
	t.Helper()
	_, err := update(key, folder, "reading", UpdateOptions{}, func(u *updater) error {
		return u.rows.DecryptAll(context.Background(), u.segments(cpar.SegmentVectors), u.fetch, func(_ int, row []int16, _ int64, _ bool) { out = append(out, slices.Clone(row)) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func keywordsIn(t testing.TB, key *Key, folder string) (out [][]string) {
	t.Helper()
	_, err := update(key, folder, "reading", UpdateOptions{}, func(u *updater) error {
		out = u.keywords
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAddRemoveCompact(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range growing {
		key := testKey()
		first, second, third := marked(35, 1, "first"), marked(3, 2, "second"), marked(33, 3, "third")
		_, folder := build(t, key, first, small(scheme))
		old := held(t, key, folder)
		before := map[cpar.Digest]bool{}
		for _, s := range old.manifest.Segments {
			before[s.Digest] = true
		}

		u, err := Add(ctx, key, folder, second, nil)
		if err != nil {
			t.Fatal(err)
		}
		x := held(t, key, folder)
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
		for i, s := range old.manifest.Segments {
			// No page of keywords or identities is full, and the last unit has
			// room after 3 records.
			keeps := slices.Contains([]cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentHints, cpar.SegmentParams, cpar.SegmentProfile}, s.Kind)
			if slices.Contains([]cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentHints}, s.Kind) && old.manifest.Segments[i+1].Kind != s.Kind {
				keeps = false
			}
			if slices.Contains(x.manifest.Segments, s) != keeps {
				t.Errorf("%v: %v of the earlier generation is kept: %v", scheme, s.Kind, !keeps)
			}
		}
		if got, want := x.findable(), marks(first, second); !slices.Equal(got, want) {
			t.Fatalf("%v: after adding %v is found, want %v", scheme, got, want)
		}
		// Additions are found, and the other device's generation is outdated.
		for _, im := range second {
			if n := x.nearest(im, 1)[0]; n.Dis > itself(scheme) || !slices.Equal(n.Keywords, im.Keywords) {
				t.Errorf("%v: a photo that was added is found as %+v", scheme, n)
			}
		}
		if old.Generation() != 1 || x.Generation() != 2 || old.Digest() == x.Digest() {
			t.Errorf("%v: generations %d and %d, states %x and %x", scheme, old.Generation(), x.Generation(), old.Digest(), x.Digest())
		}

		// One absent photo, one present, one added, and one duplicate.
		if u, err = Remove(ctx, key, folder, contentsOfAll(third[:2]), UpdateOptions{}); err != nil || u.Removed != 0 || !slices.Equal(u.Missing, []int{0, 1}) || u.Generation != 2 || u.Bytes != 0 {
			t.Errorf("%v: removing a missing photo: %+v, %v", scheme, u, err)
		}
		u, err = Remove(ctx, key, folder, contentsOfAll([]Photo{first[34], second[1], second[1], third[0]}), UpdateOptions{})
		if err != nil || u.Removed != 2 || !slices.Equal(u.Missing, []int{3}) || u.Generation != 3 || u.Records != 36 {
			t.Fatalf("%v: removed: %+v, %v", scheme, u, err)
		}
		x = held(t, key, folder)
		left := marks(first[:34], second[:1], second[2:])
		if got := x.findable(); !slices.Equal(got, left) {
			t.Fatalf("%v: after removing %v is found, want %v", scheme, got, left)
		}
		if x.Records() != 36 || x.manifest.Records != 38 {
			t.Errorf("%v: %d and %d records", scheme, x.Records(), x.manifest.Records)
		}
		alive := map[uint32]bool{}
		for _, n := range x.nearest(third[0], 1000) {
			alive[n.Record] = true
		}
		for i, words := range keywordsIn(t, key, folder) { // removed from the dictionary
			if (len(words) == 0) == alive[uint32(i)] {
				t.Errorf("%v: record %d has keywords %q", scheme, i, words)
			}
		}
		if u, err := Remove(ctx, key, folder, contentsOfAll(first[34:]), UpdateOptions{}); err != nil || u.Removed != 0 || !slices.Equal(u.Missing, []int{0}) {
			t.Errorf("%v: removed twice: %+v, %v", scheme, u, err)
		}

		// Only compaction removes the words.
		if !slices.Contains(x.Keywords(), "first 034") {
			t.Errorf("%v: the words before compacting are %q", scheme, x.Keywords())
		}
		u, err = Compact(ctx, key, folder, UpdateOptions{})
		if err != nil || u.ID == old.ID() || u.Generation != 4 || u.Records != 36 || u.Removed != 2 {
			t.Fatalf("%v: compacted: %+v, %v", scheme, u, err)
		}
		x = held(t, key, folder)
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
		if !slices.Equal(x.Keywords(), used) {
			t.Errorf("%v: the words are %q, in use are %q", scheme, x.Keywords(), used)
		}
		// The projection stays the same.
		if u, err = Add(ctx, key, folder, third, nil); err != nil || u.Generation != 5 || u.Records != 69 {
			t.Fatalf("%v: added: %+v, %v", scheme, u, err)
		}
		x = held(t, key, folder)
		if got, want := x.findable(), marks(first[:34], second[:1], second[2:], third); !slices.Equal(got, want) {
			t.Fatalf("%v: after adding again %v is found, want %v", scheme, got, want)
		}
		if u, err = Remove(ctx, key, folder, contentsOfAll(first[:1]), UpdateOptions{}); err != nil || u.Removed != 1 {
			t.Errorf("%v: the projection of a compacted index differs: %+v, %v", scheme, u, err)
		}
	}
}

func TestUpdatesKeepTheOrderSecret(t *testing.T) {
	key := testKey()
	_, folder := build(t, key, marked(2, 1, "first"), small(cpar.SchemeLocal))
	second := marked(40, 2, "second")
	if _, err := Add(context.Background(), key, folder, second, nil); err != nil {
		t.Fatal(err)
	}
	same := 0
	for i, words := range keywordsIn(t, key, folder)[2:] {
		if slices.Equal(words, second[i].Keywords) {
			same++
		}
	}
	if same > 15 { // 1 is expected
		t.Errorf("%d of 40 images stayed in their place", same)
	}
}

// TestRestoredBackup checks that adding the same photo twice to the same
// generation, once from a backup, reuses no seed, nonce or noise.
func TestRestoredBackup(t *testing.T) {
	for _, scheme := range growing {
		key := testKey()
		_, folder := build(t, key, madeImages(5, 1), small(scheme))
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
		before := look(t, key, folder)
		if a.Generation() != b.Generation() || a.Digest() == b.Digest() || before.Digest() == a.Digest() {
			t.Errorf("%v: forks of generations %d and %d have states %x and %x", scheme, a.Generation(), b.Generation(), a.Digest(), b.Digest())
		}
		if a.Digest() != look(t, key, a.folder).Digest() {
			t.Errorf("%v: one state is two", scheme)
		}
		compared := 0
		for i, s := range a.manifest.Segments {
			o := b.manifest.Segments[i]
			if s.Digest == o.Digest && (s.Kind == cpar.SegmentParams || slices.Contains(before.manifest.Segments, s)) {
				continue // common to both forks
			}
			compared++
			if a.sharesRun(a.segments[s.Digest], b.segments[o.Digest]) {
				t.Errorf("%v: two additions to one state have 16 bytes of %v in common", scheme, s.Kind)
			}
		}
		stays := len(before.of(cpar.SegmentParams, cpar.SegmentProfile)) // the only group or block has room
		if want := len(a.manifest.Segments) - stays; compared != want {
			t.Errorf("%v: %d segments were compared, and %d are new", scheme, compared, want)
		}
		if scheme == cpar.SchemeSealed {
			// The owner of one fork rejects the reply of the other despite
			// equal generation numbers, even if the server lies about the
			// state.
			a = held(t, key, a.folder)
			pending, q, err := a.Request(image[0].Vectors, a.params(3))
			if err != nil {
				t.Fatal(err)
			}
			reply, own := b.answer(q), a.answer(q)
			if _, err := pending.Neighbours(reply); !errors.Is(err, cpar.ErrCloud) {
				t.Errorf("the reply of another fork: %v", err)
			}
			p, err := lattice.DecodeParams(a.segment(cpar.SegmentParams))
			if err != nil {
				t.Fatal(err)
			}
			r, err1 := lattice.DecodeReply(p, reply.Opaque)
			right, err2 := lattice.DecodeReply(p, own.Opaque)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			r.State = right.State
			reply.Opaque = r.AppendBinary(p, nil, 0)
			if _, err := pending.Neighbours(reply); !errors.Is(err, cpar.ErrCloud) {
				t.Errorf("the reply of another fork under the right state: %v", err)
			}
		}
	}
}

// TestCompactKeepsVectors checks that Compact re-encrypts the same rows under
// another id and order without a common ciphertext.
func TestCompactKeepsVectors(t *testing.T) {
	for _, scheme := range growing {
		key := testKey()
		_, folder := build(t, key, madeImages(40, 1), small(scheme))
		backup := copyFolder(t, folder)
		if _, err := Compact(context.Background(), key, folder, UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		before, after := vectorsIn(t, key, backup), vectorsIn(t, key, folder)
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
			if o := b.manifest.Segments[i]; s.Kind != cpar.SegmentParams && a.sharesRun(a.segments[s.Digest], b.segments[o.Digest]) {
				t.Errorf("%v: %v shares 16 bytes with the old index", scheme, s.Kind)
			}
		}
	}
}

func copyFolder(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestManyUpdates compares random updates with a list of photos.
func TestManyUpdates(t *testing.T) {
	ctx := context.Background()
	for _, scheme := range growing {
		rng := rand.New(rand.NewPCG(4, uint64(scheme)))
		key := testKey()
		have := marked(4, 100, "begin")
		_, folder := build(t, key, have, small(scheme))
		seen := uint64(1)
		for round := range 8 {
			var u *Update
			var err error
			switch {
			case round%4 == 3:
				u, err = Compact(ctx, key, folder, UpdateOptions{})
			case rng.IntN(2) == 0 || len(have) < 4:
				more := marked(1+rng.IntN(3), uint64(200+round), fmt.Sprint("round ", round))
				u, err = Add(ctx, key, folder, more, nil)
				have = append(have, more...)
			default:
				at := rng.IntN(len(have))
				u, err = Remove(ctx, key, folder, contentsOfAll(have[at:at+1]), UpdateOptions{})
				have = slices.Delete(have, at, at+1)
			}
			if err != nil {
				t.Fatal(err)
			}
			x := held(t, key, folder)
			if got, want := x.findable(), marks(have); !slices.Equal(got, want) || u.Records != len(have) {
				t.Fatalf("%v, round %d: %v, want %v", scheme, round, got, want)
			}
			if x.Generation() != seen+1 || u.Generation != seen+1 {
				t.Fatalf("%v, round %d: generation %d after %d", scheme, round, x.Generation(), seen)
			}
			seen = x.Generation()
		}
	}
}

// TestRefilledTailIsChecked checks that after refilling a group, the old
// group's reply and any alteration of the new one are rejected.
func TestRefilledTailIsChecked(t *testing.T) {
	key := testKey()
	_, folder := build(t, key, madeImages(20, 1), small(cpar.SchemeSealed))
	old := look(t, key, folder)
	if _, err := Add(t.Context(), key, folder, madeImages(1, 5), nil); err != nil {
		t.Fatal(err)
	}
	x := held(t, key, folder)
	if a, b := old.of(cpar.SegmentVectors), x.of(cpar.SegmentVectors); len(a) != 2 || len(b) != 2 || a[0] != b[0] || a[1] == b[1] || a[1].Bytes != b[1].Bytes {
		t.Fatalf("groups of 20 records are %v, of 21 %v", a, b)
	}
	pending, q, err := x.Request(madeImages(1, 5)[0].Vectors, x.params(1000))
	if err != nil {
		t.Fatal(err)
	}
	p, err := lattice.DecodeParams(x.segment(cpar.SegmentParams))
	if err != nil {
		t.Fatal(err)
	}
	decode := func(reply *cpar.Reply) *lattice.Reply {
		t.Helper()
		r, err := lattice.DecodeReply(p, reply.Opaque)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	refused := func(name string, r *lattice.Reply) {
		t.Helper()
		if _, err := pending.Neighbours(&cpar.Reply{Index: r.Index, Opaque: r.AppendBinary(p, nil, 0)}); !errors.Is(err, cpar.ErrCloud) {
			t.Errorf("%s: %v", name, err)
		}
	}
	right, before := x.answer(q), decode(old.answer(q))
	refused("the state before", before)
	before.State = decode(right).State
	refused("the group before", before)
	for i := p.Records(); i < 2*p.Records(); i++ {
		r := decode(right)
		r.Words[i] = p.Ring().Add(r.Words[i], 1)
		refused(fmt.Sprint("word ", i), r)
	}
	if near, err := pending.Neighbours(right); err != nil || len(near) != 21 || near[0].Record != 20 || near[0].Dis > itself(cpar.SchemeSealed) {
		t.Errorf("the right reply: %+v, %v", near, err)
	}
}

// TestAddRejectsAlteredLastGroup checks that an altered or outdated last
// group is rejected rather than re-encrypted.
func TestAddRejectsAlteredLastGroup(t *testing.T) {
	for _, scheme := range growing {
		key := testKey()
		_, folder := build(t, key, madeImages(3, 1), small(scheme))
		before := look(t, key, folder)
		if _, err := Add(t.Context(), key, folder, madeImages(1, 5), nil); err != nil {
			t.Fatal(err)
		}
		m, err := indexdir.ReadManifest(folder)
		if err != nil {
			t.Fatal(err)
		}
		path := indexdir.SegmentPath(folder, m.Segments[0].Digest)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"before": before.segment(cpar.SegmentVectors), "altered": append(b[:len(b)-1:len(b)-1], b[len(b)-1]^1)} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Add(t.Context(), key, folder, madeImages(1, 6), nil); !errors.Is(err, cpar.ErrCorrupt) {
				t.Errorf("%v, %s: %v", scheme, name, err)
			}
		}
	}
}
