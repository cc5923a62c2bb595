package user

import (
	"context"
	"fmt"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/vector"
	"cpar/user/internal/index"
)

// A Builder is an owner who still has the collection in the clear, set up and
// ready to be encrypted.
type Builder struct {
	*Owner
	opt         Options
	twinBuilder twinBuilder
	collection  *index.Collection
	identities  []identity // by image
	// encrypted is set by the first Encrypt.
	encrypted bool
	// Validation is what the profile and its ranker gave on photos of the
	// collection; nil for profile `paper` with its own ranker, which learn nothing
	// from keywords, and where the photos are too few.
	Validation *rank.Validation
}

// Image is the index, in the images given to Setup, of the one behind a record.
func (b *Builder) PhotoOf(record uint32) int { return b.collection.Records[record].Photo }

// Vectors are the plaintext vectors of the records.
func (b *Builder) Vectors() []*vector.Vector { return b.collection.Vectors() }

// Clamped counts the records whose vector was moved towards the baseline so that no
// score can wrap; 0 for photographs.
func (b *Builder) Clamped() int { return b.twinBuilder.Clamped() }

// Fitted is the profile and the ranker of the index, for another one.
func (b *Builder) Fitted() *profile.Fitted {
	fit := &profile.Fitted{Profile: b.ledger.profile, Validation: b.Validation}
	fit.Ranker, _ = b.ledger.ranker.(*rank.Calibrated)
	return fit
}

// Encrypt writes the encrypted index to folder and activates it in one step;
// an index that the folder held before stays whole until then. Everything
// random in it is fresh: building twice gives two indexes with nothing in
// common.
//
// A Builder encrypts once: its keys belong to one index id, and one vector
// encrypted twice under one key shows S⁻¹ times a difference of noise. Whoever
// wants another index sets another one up.
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

// write writes and activates a state of an index: the scheme's segments, the identities
// of the records, the profile if the index has none yet, then the ledger, which vouches
// for all.
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
		if err := w.Bytes(cpar.SegmentProfile, fitted); err != nil {
			return err
		}
	}
	// The digest of contents is over the manifest's order.
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
