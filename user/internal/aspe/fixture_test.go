package aspe

import (
	"context"
	"cpar/model/feature"
	"crypto/rand"
	"io"
	"testing"

	"cpar"
	visible "cpar/cloud/score"
	"cpar/cloud/search"
	"cpar/internal/indexdir"
	"cpar/internal/testing/syntheticphotos"
	"cpar/model/profile"
	"cpar/model/vector"
	"cpar/user/internal/fixtures"
)

var small = Options{Trees: 3, Lists: 6}

var kinds = map[profile.Kind]func(n int, seed uint64) []feature.Photo{
	profile.Paper: syntheticphotos.Photos, profile.Learned: syntheticphotos.Photos, profile.Network: syntheticphotos.Embedded,
}

// indexed is a collection as its owner and the server see it.
type indexed struct {
	*Builder
	at *indexdir.Index
	t  testing.TB
}

func setUp(t testing.TB, kind profile.Kind, photos []feature.Photo, opt Options) *indexed {
	t.Helper()
	return setUpWith(t, kind, photos, opt, rand.Reader)
}

func setUpWith(t testing.TB, kind profile.Kind, photos []feature.Photo, opt Options, random io.Reader) *indexed {
	t.Helper()
	x, c := fixtures.Index(t, cpar.SchemeCPAR, kind, photos, random)
	b, err := SetUp(context.Background(), x, c, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &indexed{Builder: b, t: t}
}

func (x *indexed) write() *indexed {
	x.t.Helper()
	x.at = fixtures.Write(x.t, fixtures.Folder(x.t), x.Index.Index, x.Builder)
	return x
}

func (x *indexed) vector(photo feature.Photo) *vector.Vector {
	x.t.Helper()
	v, err := x.Profile.Vector(photo.Vectors)
	if err != nil {
		x.t.Fatal(err)
	}
	return v
}

func (x *indexed) ask(v *vector.Vector, p cpar.Params) (*ReplyReader, *cpar.Request) {
	x.t.Helper()
	reading, q, err := x.Request(v, p)
	if err != nil {
		x.t.Fatal(err)
	}
	return reading.(*ReplyReader), q
}

func (x *indexed) cloud() *visible.Index {
	x.t.Helper()
	c, err := visible.Load(x.at.Manifest(), x.at.Segments())
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

func (x *indexed) answer(c *visible.Index, q *cpar.Request) *cpar.Reply {
	x.t.Helper()
	reply, err := search.Annotate(c, q)
	if err != nil {
		x.t.Fatal(err)
	}
	return reply
}
