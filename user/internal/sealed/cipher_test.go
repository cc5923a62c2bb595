package sealed

import (
	"bytes"
	"cmp"
	"cpar/model/feature"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"

	"cpar"
	cloud "cpar/cloud/sealed"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
	"cpar/internal/testing/syntheticphotos"
	"cpar/internal/wire"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user/internal/fixtures"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

type asked struct {
	*rows.Builder
	at *indexdir.Index
	*cipher
	t testing.TB
}

func newAsked(t testing.TB, photos []feature.Photo, block int) *asked {
	t.Helper()
	x, c := fixtures.Index(t, cpar.SchemeSealed, profile.Paper, photos, rand.Reader)
	var own *cipher
	kind := Kind
	kind.New = func(x *index.Index, q *rows.Quantiser, o rows.Options) (rows.Cipher, error) {
		c, err := Kind.New(x, q, o)
		own, _ = c.(*cipher)
		return c, err
	}
	b, err := kind.SetUp(x, c, rows.Options{Block: block})
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{Builder: b, at: fixtures.Write(t, fixtures.Folder(t), x, b), cipher: own, t: t}
	if err := b.Hold(map[cpar.SegmentKind][][]byte{cpar.SegmentKeywords: a.segments(cpar.SegmentKeywords), cpar.SegmentHints: a.segments(cpar.SegmentHints)}); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *asked) segments(k cpar.SegmentKind) (list [][]byte) {
	for i, x := range a.at.Manifest().Segments {
		if x.Kind == k {
			list = append(list, a.at.Segments()[i])
		}
	}
	return list
}

func (a *asked) vector(p feature.Photo) *vector.Vector {
	a.t.Helper()
	v, err := a.Profile.Vector(p.Vectors)
	if err != nil {
		a.t.Fatal(err)
	}
	return v
}

func (a *asked) cloud() *cloud.Index {
	a.t.Helper()
	c, err := cloud.Load(a.at.Manifest(), a.at.Segments())
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

func (a *asked) answer(c *cloud.Index, request []byte) *lattice.Reply {
	a.t.Helper()
	q, err := lattice.DecodeRequest(request, a.params)
	if err != nil {
		a.t.Fatal(err)
	}
	return evaluate(a.t, a.params, c, q, 1)
}

func (a *asked) reply(r *lattice.Reply) *cpar.Reply {
	return &cpar.Reply{Index: r.Index, Opaque: r.AppendBinary(a.params, nil, 0)}
}

func TestScoresAreTheTwins(t *testing.T) {
	for _, c := range []struct{ n, block int }{{1, 0}, {32, 0}, {33, 0}, {70, 64}, {20, 32}} {
		n, a := c.n, newAsked(t, syntheticphotos.Photos(c.n, 1), c.block)
		if perGroup := 2048 / cmp.Or(c.block, lattice.DefaultBlock); a.params.Records() != perGroup {
			t.Fatalf("blocks of %d: %d records a group, want %d", c.block, a.params.Records(), perGroup)
		}
		twin, err := a.Twin()
		if err != nil {
			t.Fatal(err)
		}
		other := a.cloud()
		for _, photo := range syntheticphotos.Photos(3, 9) {
			v := a.vector(photo)
			u, err := twin.(*rows.Twin).Request(v)
			if err != nil {
				t.Fatal(err)
			}
			want, err := twin.(*rows.Twin).Scores(v)
			if err != nil {
				t.Fatal(err)
			}
			q, scores, err := a.cipher.Request(u, -1, fresh())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := scores(a.reply(a.answer(other, q.Opaque))); err != nil || !slices.Equal(got, want) {
				t.Errorf("%d records: scores %v, the twin has %v; %v", n, got, want, err)
			}
		}
	}
}

func TestEveryAlteredScoreIsNoticed(t *testing.T) {
	photos := syntheticphotos.Photos(40, 1)
	a := newAsked(t, photos, 0)
	c := a.cloud()
	v := a.vector(syntheticphotos.Photos(1, 9)[0])
	ask := func() (index.ReplyReader, *lattice.Reply) {
		t.Helper()
		reading, q, err := a.Builder.Request(v, cpar.Params{Scheme: cpar.SchemeSealed, L: 5, Approx: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return reading, a.answer(c, q.Opaque)
	}
	refused := func(name string, reading index.ReplyReader, r *lattice.Reply) error {
		t.Helper()
		near, err := reading.Read(a.reply(r))
		if !errors.Is(err, cpar.ErrCloud) || near != nil {
			t.Errorf("%s: %v, %v; want ErrCloud", name, near, err)
		}
		return err
	}
	ring, said := a.params.Ring(), map[string]bool{}
	off := func(r *lattice.Reply, i int, by uint64) { r.Words[i] = ring.Add(r.Words[i], by) }
	_, some := ask()
	for i := range some.Words {
		for _, by := range []uint64{1, ring.Q - 1, 1 << a.params.LogScale() / 2} { // the smallest change, and half a score
			reading, r := ask()
			off(r, i, by)
			err := refused(fmt.Sprintf("word %d is off by %d", i, by), reading, r)
			said[err.Error()+hint.Of(err)] = true
		}
	}
	reading, r := ask()
	r.Words[3], r.Words[4] = r.Words[4], r.Words[3]
	err := refused("two words swapped", reading, r)
	said[err.Error()+hint.Of(err)] = true
	reading, r = ask()
	clear(r.Words)
	err = refused("no scores", reading, r)
	said[err.Error()+hint.Of(err)] = true
	if len(said) != 1 {
		t.Errorf("refusals differ: %v", said)
	}
	reading, r = ask()
	r.Words = r.Words[a.params.Records():]
	refused("one group dropped", reading, r)

	_, old := ask()
	reading, r = ask()
	refused("the reply to another request", reading, old)
	lie := *old
	lie.Number = r.Number
	refused("that reply under the right number", reading, &lie)
	reading, r = ask()
	r.State[0] ^= 1
	refused("another state", reading, r)
	reading, r = ask()
	r.Index[0] ^= 1
	refused("another index", reading, r)

	reading, r = ask()
	good := a.reply(r)
	for _, at := range []int{0, 4, 5, 6, 8, 24, 40, 72, 76, len(good.Opaque) - 1} {
		bad := &cpar.Reply{Index: good.Index, Opaque: bytes.Clone(good.Opaque)}
		bad.Opaque[at] ^= 0x80
		if at == len(good.Opaque)-1 {
			bad.Opaque = bad.Opaque[:at]
		}
		if near, err := reading.Read(bad); !errors.Is(err, cpar.ErrCloud) || near != nil {
			t.Errorf("byte %d altered: %v", at, err)
		}
	}
	for name, reply := range map[string]*cpar.Reply{"no reply": nil, "a reply of another scheme": {Index: a.ID}, "said to be of another index": {Opaque: good.Opaque}} {
		if _, err := reading.Read(reply); !errors.Is(err, cpar.ErrCloud) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Rejected replies do not use up the request, and the correct reply can be
	// read twice.
	first, err := reading.Read(good)
	if err != nil || len(first) != 5 {
		t.Fatalf("the right reply: %v, %v", first, err)
	}
	if again, err := reading.Read(good); err != nil || fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("read again: %v, %v", again, err)
	}
	off(r, 0, 1)
	if _, err := reading.Read(a.reply(r)); err == nil {
		t.Error("a second reply to one request was decrypted")
	}
}

// Rejected hints leave the held ones unchanged.
func TestHeldOnlyWhole(t *testing.T) {
	a := newAsked(t, syntheticphotos.Photos(19, 1), 0)
	hints := a.segments(cpar.SegmentHints)
	if len(hints) != 2 || len(a.segments(cpar.SegmentVectors)) != 2 {
		t.Fatalf("%d segments of hints", len(hints))
	}
	hold := func(segments ...[]byte) error { return a.cipher.Hold(cpar.SegmentHints, segments) }
	other := newAsked(t, syntheticphotos.Photos(3, 1), 0)
	other.cipher.index.ID[0]++
	if err := other.cipher.Hold(cpar.SegmentHints, hints); !errors.Is(err, cpar.ErrCorrupt) {
		t.Errorf("of another index: %v", err)
	}
	for _, n := range []int{1, 11, 27, len(hints[1])} {
		if err := hold(hints[0], make([]byte, n)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("hints of %d bytes: %v", n, err)
		}
	}
	if a.cipher.Held() != 19 {
		t.Errorf("refused hints left hints of %d records", a.cipher.Held())
	}
	for _, some := range [][][]byte{{}, {hints[0]}, {hints[1]}, {hints[0], hints[0]}, {hints[0], hints[1], hints[1]}} {
		if err := hold(some...); err == nil && a.cipher.Held() == 19 {
			t.Errorf("hints of 19 records from %d segments", len(some))
		}
	}
}

func TestStateOfOtherParametersIsRefused(t *testing.T) {
	a := newAsked(t, syntheticphotos.Photos(3, 1), 0)
	for name, spoil := range map[string]func(s *cipher){
		"another width":      func(s *cipher) { s.params.Dim++ },
		"another norm":       func(s *cipher) { s.params.RecordNorm++ },
		"a sum that is Q":    func(s *cipher) { s.check.matrix[7] = s.params.Ring().Q },
		"an addend beyond Q": func(s *cipher) { s.check.addends[1] = s.params.Ring().Q + 1 },
		"a sum too few":      func(s *cipher) { s.check.matrix = s.check.matrix[1:] },
	} {
		s := open(a.cipher.index, a.params, a.check.clone())
		spoil(s)
		b, err := s.AppendBinary(nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := Kind.Open(a.cipher.index, reader(a.cipher.index.Records, b)); !errors.Is(err, cpar.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func reader(records int, cipher []byte) *wire.Reader {
	return wire.NewReader(append(rows.NewBitmap(records), cipher...), cpar.ErrCorrupt)
}

func BenchmarkScheme(b *testing.B) {
	a := newAsked(b, syntheticphotos.Photos(640, 1), 0)
	v := a.vector(syntheticphotos.Photos(1, 9)[0])
	b.Run("request", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := a.Builder.Request(v, cpar.Params{Scheme: cpar.SchemeSealed, L: 10, Approx: 1000}); err != nil {
				b.Fatal(err)
			}
		}
	})
	reply, wanted := make([]uint64, a.params.Groups(20000)*a.params.Records()), make([]uint64, a.params.Records())
	b.Run("check of 20000", func(b *testing.B) {
		for b.Loop() {
			fits(a.params, a.rho, reply, wanted)
		}
	})
}
