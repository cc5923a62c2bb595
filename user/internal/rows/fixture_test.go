package rows_test

import (
	"bytes"
	"context"
	"cpar/model/feature"
	"crypto/rand"
	"io"
	"os"
	"slices"
	"testing"

	"cpar"
	cloud "cpar/cloud/sealed"
	"cpar/internal/indexdir"
	"cpar/internal/wire"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/fixtures"
	"cpar/user/internal/index"
	"cpar/user/internal/local"
	"cpar/user/internal/rows"
	"cpar/user/internal/sealed"
)

var kinds = map[cpar.Scheme]rows.Kind{cpar.SchemeSealed: sealed.Kind, cpar.SchemeLocal: local.Kind}

// state is a generation of an index in a folder, opened from its bytes.
type state struct {
	*rows.Index
	kind   rows.Kind
	folder string
	at     *indexdir.Index
	t      testing.TB
}

func begin(t testing.TB, scheme cpar.Scheme, kind profile.Kind, photos []feature.Photo, random io.Reader) (*state, *rows.Builder, *index.Collection) {
	t.Helper()
	return beginWith(t, scheme, kind, photos, random, rows.Options{})
}

func beginWith(t testing.TB, scheme cpar.Scheme, kind profile.Kind, photos []feature.Photo, random io.Reader, o rows.Options) (*state, *rows.Builder, *index.Collection) {
	t.Helper()
	x, c := fixtures.Index(t, scheme, kind, photos, random)
	b, err := kinds[scheme].SetUp(x, c, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Divide(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s := &state{kind: kinds[scheme], folder: fixtures.Folder(t), t: t}
	return s.after(x, b), b, c
}

// after writes b into the folder of s and opens it.
func (s *state) after(x *index.Index, b *rows.Builder) *state {
	s.t.Helper()
	next := &state{kind: s.kind, folder: s.folder, t: s.t}
	var stay []cpar.Segment
	if s.at != nil && s.at.Manifest().ID == x.ID {
		stay = s.of(cpar.SegmentVectors, cpar.SegmentHints, cpar.SegmentKeywords, cpar.SegmentCells)
	}
	next.at = fixtures.Write(s.t, s.folder, x, b, stay...)
	enc, err := b.AppendBinary(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r := wire.NewReader(enc, cpar.ErrCorrupt)
	if next.Index, err = s.kind.Open(x, r); err != nil || r.Close() != nil {
		s.t.Fatal(err, r.Close())
	}
	return next
}

// grown writes the next generation. All segments must be held.
func (s *state) grown(photos []feature.Photo, removed []int) *state {
	s.t.Helper()
	keywords, err := s.KeywordsOf()
	if err != nil {
		s.t.Fatal(err)
	}
	var vectors []*vector.Vector
	for _, p := range photos {
		vectors = append(vectors, s.vector(p))
		keywords = append(keywords, p.Keywords)
	}
	add, _, err := s.RowsOf(vectors)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, i := range removed {
		keywords[i] = nil
	}
	x := *s.Index.Index
	x.Generation++
	x.Records += len(photos)
	b, err := s.Next(s.t.Context(), &x, rows.Change{Add: add, Removed: removed, Keywords: keywords, Last: func() ([]byte, error) {
		v := s.vectors()
		return s.read(v[len(v)-1])
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.after(&x, b)
}

// fork copies the generation into another folder.
func (s *state) fork() *state {
	s.t.Helper()
	fork := *s
	fork.folder = fixtures.Folder(s.t)
	if err := os.CopyFS(fork.folder, os.DirFS(s.folder)); err != nil {
		s.t.Fatal(err)
	}
	return &fork
}

func (s *state) of(kinds ...cpar.SegmentKind) (list []cpar.Segment) {
	for _, x := range s.at.Manifest().Segments {
		if slices.Contains(kinds, x.Kind) {
			list = append(list, x)
		}
	}
	return list
}

func (s *state) vectors() []cpar.Segment { return s.of(cpar.SegmentVectors) }

func (s *state) read(x cpar.Segment) ([]byte, error) {
	for i, y := range s.at.Manifest().Segments {
		if x == y {
			return s.at.Segments()[i], nil
		}
	}
	return nil, cpar.ErrCorrupt
}

// needed returns copies of the segments to hold.
func (s *state) needed() map[cpar.SegmentKind][][]byte {
	out := map[cpar.SegmentKind][][]byte{}
	for i, x := range s.at.Manifest().Segments {
		if s.Needs(x.Kind) {
			out[x.Kind] = append(out[x.Kind], bytes.Clone(s.at.Segments()[i]))
		}
	}
	return out
}

func (s *state) held() *state {
	s.t.Helper()
	if err := s.Hold(s.needed()); err != nil {
		s.t.Fatal(err)
	}
	return s
}

func (s *state) vector(p feature.Photo) *vector.Vector {
	s.t.Helper()
	v, err := s.Profile.Vector(p.Vectors)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func (s *state) params(l int) cpar.Params {
	return cpar.Params{Scheme: s.Scheme, L: uint16(l), Approx: 1000}
}

// answer returns the server's reply, nil for a local search.
func (s *state) answer(q *cpar.Request) *cpar.Reply {
	s.t.Helper()
	if q == nil {
		return nil
	}
	c, err := cloud.Load(s.at.Manifest(), s.at.Segments())
	if err != nil {
		s.t.Fatal(err)
	}
	replies, err := c.Annotate(context.Background(), 1, []*cpar.Request{q})
	if err != nil {
		s.t.Fatal(err)
	}
	return replies[0]
}

func (s *state) nearest(p feature.Photo, l int) []rank.Neighbour {
	s.t.Helper()
	reading, q, err := s.Request(s.vector(p), s.params(l))
	if err != nil {
		s.t.Fatal(err)
	}
	near, err := reading.Read(s.answer(q))
	if err != nil {
		s.t.Fatal(err)
	}
	return near
}

func (s *state) ask(p feature.Photo) (index.ReplyReader, *cpar.Request) {
	s.t.Helper()
	reading, q, err := s.Request(s.vector(p), s.params(5))
	if err != nil {
		s.t.Fatal(err)
	}
	return reading, q
}

var good = rand.Reader
