package user

import (
	"context"
	"fmt"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/kdforest"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/aspe"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

// A Builder is an Owner that still holds the plaintext collection.
type Builder struct {
	*Owner
	opt         Options
	twinBuilder twinBuilder
	collection  *index.Collection
	identities  []identity // indexed like the photos given to Setup
	encrypted   bool
	// Validation holds the accuracy of profile and ranker, measured by
	// cross-validation on the collection. It is nil if nothing was learnt or
	// there are too few photos.
	Validation *rank.Validation
}

// PhotoOf returns the position of a record's photo among the photos given to Setup.
func (b *Builder) PhotoOf(record uint32) int { return b.collection.Records[record].Photo }

func (b *Builder) Vectors() []*vector.Vector { return b.collection.Vectors() }

// Clamped returns the number of records whose vectors were shortened to fit the
// cipher, 0 for ordinary photographs.
func (b *Builder) Clamped() int { return b.twinBuilder.Clamped() }

// Fitted returns the profile and ranker for reuse in another index.
func (b *Builder) Fitted() *profile.Fitted {
	fit := &profile.Fitted{Profile: b.ledger.profile, Validation: b.Validation}
	fit.Ranker, _ = b.ledger.ranker.(*rank.Calibrated)
	return fit
}

// Encrypt writes the encrypted index to folder and activates it atomically. All
// randomness is fresh, so two builds of a collection share nothing.
//
// A Builder encrypts only once, because its keys belong to one index id. Two
// ciphertexts of one vector under one key would reveal the difference of two
// noise vectors times S⁻¹, the inverse of the key's matrix.
func (b *Builder) Encrypt(ctx context.Context, folder string) (*cpar.Manifest, error) {
	return b.encrypt(ctx, folder, indexdir.Options{})
}

func (b *Builder) encrypt(ctx context.Context, folder string, dir indexdir.Options) (*cpar.Manifest, error) {
	if b.encrypted {
		return nil, fmt.Errorf("encrypting the index: %w: index %v was encrypted before; set up a new one", cpar.ErrInput, b.ID())
	}
	b.encrypted = true
	d, err := indexdir.Create(folder, dir)
	if err != nil {
		return nil, fmt.Errorf("encrypting the index: %w", err)
	}
	defer d.Close()
	w := &index.Writer{Dir: d, Progress: b.opt.Progress, Manifest: &cpar.Manifest{ID: b.ID(), Scheme: b.Scheme(), Records: uint32(b.ledger.records)}}
	identities := make([]identity, len(b.identities))
	for i, r := range b.collection.Records {
		identities[i] = b.identities[r.Photo]
	}
	if err := b.write(ctx, w, b.twinBuilder, identities); err != nil {
		return nil, fmt.Errorf("encrypting the index: %w", err)
	}
	return w.Manifest, nil
}

// MaxProfileBytes bounds a profile or ledger, which a device downloads before its
// key has authenticated it. The largest profile of Corel-5k ("paper" with PCA-8)
// has 20 MB, and the largest keyword list 8 MB.
const MaxProfileBytes = 64 << 20

// write writes the segments of s, the identities, the profile unless the
// manifest lists it, and the ledger. It then activates the generation.
func (o *Owner) write(ctx context.Context, w *index.Writer, s schemeBuilder, identities []identity) error {
	if err := s.Write(ctx, w); err != nil {
		return err
	}
	if o.Scheme().Grows() {
		if err := writeIdentities(o.index, w, identities); err != nil {
			return err
		}
	}
	if _, there := w.Manifest.Segment(cpar.SegmentProfile); !there {
		fitted, err := encryptFitted(o.index, o.ledger.fitted)
		if err != nil {
			return err
		}
		if len(fitted) > MaxProfileBytes {
			return hint.Add(fmt.Errorf("writing the profile: %w: it has %d bytes, and devices open at most %d", cpar.ErrInput, len(fitted), MaxProfileBytes),
				"choose fewer dimensions (--dim), or index photos with fewer different keywords")
		}
		if err := w.Bytes(cpar.SegmentProfile, fitted); err != nil {
			return err
		}
	}
	// The contents digest depends on the order of the manifest.
	w.Sort()
	o.ledger.contents = contentsOf(w.Manifest)
	encrypted, err := encryptLedger(o.ledger, o.index, s)
	if err != nil {
		return err
	}
	if err := w.Bytes(cpar.SegmentLedger, encrypted); err != nil {
		return err
	}
	w.Sort()
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.Activate()
}

// Twin returns the plaintext counterpart of the index.
func (b *Builder) Twin() (*Twin, error) {
	t, err := b.twinBuilder.Twin()
	return &Twin{t}, err
}

// A Twin is a plaintext index for checking the encrypted search.
type Twin struct{ twin index.Twin }

// Search performs the server's search on plaintext and passes visited nodes to
// `trace`, which may be nil.
func (t *Twin) Search(pending *Pending, trace func(kdforest.Visit)) ([]kdforest.Hit, error) {
	return t.twin.Search(pending.replyReader, trace)
}

type (
	ASPETwin = aspe.Twin
	RowsTwin = rows.Twin
)

// ASPE returns the twin of an index of scheme cpar, ivf or capia.
func (t *Twin) ASPE() (c *ASPETwin, ok bool) {
	c, ok = t.twin.(*ASPETwin)
	return c, ok
}

// Rows returns the twin of an index of scheme sealed or local.
func (t *Twin) Rows() (r *RowsTwin, ok bool) {
	r, ok = t.twin.(*RowsTwin)
	return r, ok
}
