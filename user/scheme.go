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

// A scheme is the owner's side of one index: how a vector is asked about, and how
// neighbours come of the reply. All that this package knows of a scheme is this
// interface and its entry in the table below.
type scheme interface {
	// Describe enters into a manifest what it says of the index but its segments.
	Describe(m *cpar.Manifest)
	// AppendBinary appends the scheme's own part of the ledger.
	AppendBinary(b []byte) ([]byte, error)
	// Live is the number of records that can be found.
	Live() int
	// Needs says which segments must be held at home before a photo can be asked
	// about, Hold takes all of them.
	Needs(k cpar.SegmentKind) bool
	Hold(segments map[cpar.SegmentKind][][]byte) error
	// Request returns the state that the owner keeps for one request and the
	// request to send, which is nil if the owner searches the index itself.
	Request(v *vector.Vector, p cpar.Params) (index.ReplyReader, *cpar.Request, error)
	// RequestAll returns one request for each cell of the index, or a single
	// request if the index has no cells.
	RequestAll(v *vector.Vector, p cpar.Params) ([]index.ReplyReader, []*cpar.Request, error)
	// Count returns the number of live records for each keyword. It returns nil
	// if the owner does not hold the keywords. The ranker's own counts come from
	// the collection that the index was built from.
	Count() map[string]int
}

// A building is an index, or the next state of one, that is not written yet.
type schemeBuilder interface {
	scheme
	// Write encrypts, and enters the segments into the writer's manifest.
	Write(ctx context.Context, w *index.Writer) error
	// Clamped counts the new records whose vectors were shortened.
	Clamped() int
}

// A plain building knows its collection in the clear.
type twinBuilder interface {
	schemeBuilder
	Twin() (index.Twin, error)
}

// An entry is what is known of one scheme.
type entry struct {
	// hides: the cloud reads no distance. Such schemes need no permission.
	hides bool
	// check refuses options, and settles those that the scheme leaves no choice of.
	check func(o *Options) error
	// setUp begins an index of a collection, open one from its bytes in the ledger.
	setUp func(ctx context.Context, x *index.Index, c *index.Collection, o Options) (twinBuilder, error)
	open  func(x *index.Index, r *wire.Reader) (scheme, error)
	// updatable returns the index behind a scheme that open returned, or false if
	// an index of this scheme cannot be updated.
	updatable func(s scheme) (*rows.Index, bool)
	// bytes is the size of n records without trees and lists: all but their keywords
	// and the common part of the ledger.
	bytes func(layout vectorlayout.Params, n int) (uint64, error)
}

// DefaultScheme is the one that Options take where none is named.
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

// aspeEntry is the entry of a scheme of package compared.
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

// rowsEntry is the entry of a scheme of package rows.
func rowsEntry(k rows.Kind, check func(*Options) error) entry {
	return entry{
		hides: true,
		check: check,
		setUp: func(ctx context.Context, x *index.Index, c *index.Collection, o Options) (twinBuilder, error) {
			return k.SetUp(ctx, x, c, rows.Options{Block: o.Block, Careful: o.Careful, Cells: o.Cells})
		},
		open:      func(x *index.Index, r *wire.Reader) (scheme, error) { return k.Open(x, r) },
		updatable: func(s scheme) (*rows.Index, bool) { x, ok := s.(*rows.Index); return x, ok },
		bytes:     k.Bytes,
	}
}

// Updatable reports whether an index of a scheme can be added to and removed from.
func Updatable(s cpar.Scheme) bool { return s.Grows() }

// Hides reports whether the cloud reads no distance under a scheme.
func Hides(s cpar.Scheme) bool { return schemes[s].hides }
