package user

import (
	"context"

	"cpar"
	"cpar/internal/wire"
	"cpar/model/vector"
	"cpar/model/vectorlayout"
	"cpar/user/internal/aspe"
	"cpar/user/internal/index"
	"cpar/user/internal/local"
	"cpar/user/internal/rows"
	"cpar/user/internal/sealed"
)

// A scheme implements the owner's side of one index.
type scheme interface {
	// Describe sets the manifest's fields except its segments.
	Describe(m *cpar.Manifest)
	AppendBinary(b []byte) ([]byte, error)
	Live() int
	// Needs reports whether the owner must hold segments of kind k before
	// making requests.
	Needs(k cpar.SegmentKind) bool
	Hold(segments map[cpar.SegmentKind][][]byte) error
	// Request returns the state to keep for one request and the request to
	// send. The request is nil if the owner searches the index itself.
	Request(v *vector.Vector, p cpar.Params) (index.ReplyReader, *cpar.Request, error)
	// Requests returns a request to each of the Asked nearest cells, or to
	// every cell. Without cells, it returns one request.
	Requests(v *vector.Vector, p cpar.Params, every bool) ([]index.ReplyReader, []*cpar.Request, error)
	// Asked returns the number of cells that every search asks, or 1.
	Asked() int
	// Count returns the numbers of live records with each keyword and with any.
	// The map is nil if the owner holds no keywords.
	Count() (words map[string]int, tagged int)
}

// A schemeBuilder is an index, or its next generation, before it is written.
type schemeBuilder interface {
	scheme
	Write(ctx context.Context, w *index.Writer) error
	Clamped() int
}

type twinBuilder interface {
	schemeBuilder
	Twin() (index.Twin, error)
}

type entry struct {
	// hides is set if the server learns no distances. Every key allows such
	// schemes by default.
	hides bool
	check func(o *Options) error
	setUp func(ctx context.Context, x *index.Index, c *index.Collection, o Options) (twinBuilder, error)
	open  func(x *index.Index, r *wire.Reader) (scheme, error)
	// updatable returns the rows of an opened index, or false if the index
	// cannot be updated.
	updatable func(s scheme) (*rows.Index, bool)
	// bytes returns the size in bytes of n records, without search structures,
	// keywords and the common part of the ledger.
	bytes func(layout vectorlayout.Params, n int) (uint64, error)
}

// DefaultScheme is used if Options names no scheme.
const DefaultScheme = cpar.SchemeSealed

var schemes = map[cpar.Scheme]entry{
	cpar.SchemeCPAR: aspeEntry(checkForest, func(o Options) aspe.Options {
		return aspe.Options{Trees: o.Trees, Lists: o.Lists, Split: o.Split, Place: o.Place, Order: o.Order}
	}),
	cpar.SchemeIVF: aspeEntry(refuseCells, func(o Options) aspe.Options {
		return aspe.Options{Trees: aspe.None, Lists: o.Lists}
	}),
	cpar.SchemeCAPIA: aspeEntry(refuseCells, func(Options) aspe.Options {
		return aspe.Options{Trees: aspe.None, Lists: aspe.None}
	}),
	cpar.SchemeSealed: rowsEntry(sealed.Kind, checkSealed),
	cpar.SchemeLocal:  rowsEntry(local.Kind, refuseCells),
}

func aspeEntry(check func(*Options) error, options func(Options) aspe.Options) entry {
	return entry{
		check: check,
		setUp: func(ctx context.Context, x *index.Index, c *index.Collection, o Options) (twinBuilder, error) {
			return aspe.SetUp(ctx, x, c, options(o), o.Progress)
		},
		open:      func(x *index.Index, r *wire.Reader) (scheme, error) { return aspe.Open(x, r) },
		updatable: func(scheme) (*rows.Index, bool) { return nil, false },
		bytes:     aspe.Bytes,
	}
}

func rowsEntry(k rows.Kind, check func(*Options) error) entry {
	return entry{
		hides: true,
		check: check,
		setUp: func(_ context.Context, x *index.Index, c *index.Collection, o Options) (twinBuilder, error) {
			return k.SetUp(x, c, rows.Options{Block: o.Block, Careful: o.Careful, Cells: o.Cells})
		},
		open:      func(x *index.Index, r *wire.Reader) (scheme, error) { return k.Open(x, r) },
		updatable: func(s scheme) (*rows.Index, bool) { x, ok := s.(*rows.Index); return x, ok },
		bytes:     k.Bytes,
	}
}

// Hides reports whether the server learns no distances under a scheme.
func Hides(s cpar.Scheme) bool { return schemes[s].hides }
