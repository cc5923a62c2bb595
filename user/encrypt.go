package user

import (
	"context"
	"fmt"
	"io"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/internal/wire"
	"cpar/ivf"
	"cpar/kdforest"
	"cpar/user/internal/keyword"
	"cpar/user/internal/seed"
	"cpar/user/ive"
	"cpar/user/vector"
)

// A Builder is an owner who still has the collection in the clear, set up and
// ready to be encrypted.
type Builder struct {
	*Owner
	opt Options
	// By record: the number of its image, its vector, its Johnson–Lindenstrauss
	// vector, its keywords.
	images   []int
	vectors  []*vector.Vector
	z        [][]int16
	keywords [][]string
	// forest is nil for an index without one.
	forest *kdforest.Forest
	// lists is nil for an index without an inverted file.
	lists     *ivf.Lists
	centroids []centroid
	// encrypted is set by the first Encrypt.
	encrypted bool
	// Clamped counts the records whose vector was moved towards the baseline
	// so that no score can wrap; 0 for photographs.
	Clamped int
	// Validation is what the profile and its ranker gave on photos of the
	// collection; nil for profile `paper` with its own ranker, which learn nothing
	// from keywords, and where the photos are too few.
	Validation *Validation
}

const (
	// chunkBytes is the most that one segment of vectors holds: pushing it
	// again after a broken connection is cheap, and a hundred thousand records
	// are not ten thousand files.
	chunkBytes = 64 << 20
	// batch is the number of records encrypted at once, 5 MB of vectors.
	batch = 512
)

// Image is the number, as Setup was given them, of the image that a record is of.
func (b *Builder) Image(record uint32) int { return b.images[record] }

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
	w, err := indexdir.Create(folder, dir)
	if err != nil {
		return nil, fmt.Errorf("encrypting the index: %w", err)
	}
	defer w.Close()
	m := &cpar.Manifest{
		Scheme:       b.opt.Scheme,
		ID:           b.profile.id,
		Records:      b.profile.records,
		Dim:          uint32(b.dim()),
		KeywordBytes: keyword.SealedSize,
	}
	if b.exact != nil {
		if err := b.encryptExact(ctx, w, m); err != nil {
			return nil, fmt.Errorf("encrypting the index: %w", err)
		}
		return m, nil
	}
	m.Shift = uint8(b.budget.Cipher().RecordShift + b.budget.Cipher().RequestShift)
	// In the manifest's order of segments.
	steps := []func(context.Context, *indexdir.Writer, *cpar.Manifest) error{b.writeVectors, b.writeKeywords}
	if b.forest != nil {
		steps = append(steps, b.writeForest, b.writePlanes)
	}
	if b.lists != nil {
		steps = append(steps, b.writeLists, b.writeCentroids)
	}
	for _, step := range append(steps, b.writeProfile) {
		if err := step(ctx, w, m); err != nil {
			return nil, fmt.Errorf("encrypting the index: %w", err)
		}
	}
	if err := w.Activate(m); err != nil {
		return nil, fmt.Errorf("encrypting the index: %w", err)
	}
	return m, nil
}

// segment writes one segment by what write puts into it and enters it into m.
func segment(w *indexdir.Writer, m *cpar.Manifest, kind cpar.SegmentKind, write func(io.Writer) error) error {
	sw, err := w.AddSegment(kind)
	if err != nil {
		return err
	}
	if err := write(sw); err != nil {
		sw.Abort()
		return err
	}
	s, err := sw.Close()
	if err != nil {
		return err
	}
	m.Segments = append(m.Segments, s)
	return nil
}

// noise starts a fresh source of noise.
func (b *Builder) noise() (*ive.Noise, error) {
	var secret [seed.Size]byte
	if _, err := io.ReadFull(b.opt.testOnlyRand, secret[:]); err != nil {
		return nil, fmt.Errorf("drawing noise: %w", err)
	}
	return ive.NewNoise(secret), nil
}

// writeVectors embeds and encrypts every record: C(V) = S⁻¹(wV + e).
func (b *Builder) writeVectors(ctx context.Context, w *indexdir.Writer, m *cpar.Manifest) error {
	key, err := b.Owner.vectors()
	if err != nil {
		return err
	}
	noise, err := b.noise()
	if err != nil {
		return err
	}
	total := len(b.vectors)
	perChunk := max(1, chunkBytes/(8*b.budget.Dim()))
	for first := 0; first < total; first += perChunk {
		last := min(first+perChunk, total)
		err := segment(w, m, cpar.SegmentVectors, func(to io.Writer) error {
			for at := first; at < last; at += batch {
				if err := ctx.Err(); err != nil {
					return err
				}
				b.opt.Progress.Report("encrypt", at, total)
				words, err := b.encryptRecords(key, noise, at, min(at+batch, last))
				if err != nil {
					return err
				}
				if _, err := to.Write(wire.AppendWords(nil, words)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.opt.Progress.Report("encrypt", total, total)
	return nil
}

// encryptRecords encrypts records first to before last.
func (b *Builder) encryptRecords(key *ive.Key, noise *ive.Noise, first, last int) ([]uint64, error) {
	dim := b.budget.Dim()
	plain := make([]int64, dim*(last-first))
	z := make([]int32, len(b.z[0]))
	for i := first; i < last; i++ {
		for j, x := range b.z[i] {
			z[j] = int32(x)
		}
		clamped, err := b.record(plain[(i-first)*dim:(i-first+1)*dim], z, b.vectors[i].KL, noise.Epsilon())
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		if clamped {
			b.Clamped++
		}
	}
	words := make([]uint64, len(plain))
	return words, key.EncryptRecords(words, plain, noise, b.budget.QuietSlot())
}

func (b *Builder) writeKeywords(ctx context.Context, w *indexdir.Writer, m *cpar.Manifest) error {
	return segment(w, m, cpar.SegmentKeywords, func(to io.Writer) error {
		var block []byte
		for i, words := range b.keywords {
			var err error
			if block, err = b.sealer.Seal(block[:0], uint32(i), words, b.opt.testOnlyRand); err != nil {
				return err
			}
			if _, err := to.Write(block); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

func (b *Builder) writeForest(_ context.Context, w *indexdir.Writer, m *cpar.Manifest) error {
	m.Trees = uint8(len(b.forest.Trees))
	m.Place = b.opt.Place
	m.Fields = uint32(len(b.fields))
	m.Planes = b.forest.Planes
	m.OrderBytes = b.order.bytes()
	f := cpar.Forest{Forest: *b.forest, Cuts: make([]cpar.Plane, len(b.profile.planes))}
	if err := b.eachPlane(func(i, field int, level uint16) error {
		order, err := b.order.split(field, level)
		f.Cuts[i] = cpar.Plane{Field: uint16(field), Order: order}
		return err
	}); err != nil {
		return err
	}
	enc, err := f.AppendBinary(nil, m.OrderBytes)
	if err != nil {
		return err
	}
	return segment(w, m, cpar.SegmentForest, func(to io.Writer) error {
		_, err := to.Write(enc)
		return err
	})
}

// writePlanes encrypts one small signed plane for each distinct split.
func (b *Builder) writePlanes(ctx context.Context, w *indexdir.Writer, m *cpar.Manifest) error {
	if len(b.profile.planes) == 0 { // one image, or all of them alike
		return segment(w, m, cpar.SegmentPlanes, func(io.Writer) error { return nil })
	}
	noise, err := b.noise()
	if err != nil {
		return err
	}
	key, err := b.Owner.planes()
	if err != nil {
		return err
	}
	m.PlaneShift = uint8(key.Params().RecordShift + key.Params().RequestShift)
	dim := key.budget.Dim()
	plain := make([]int64, dim*len(b.profile.planes))
	if err := b.eachPlane(func(i, field int, level uint16) error {
		return key.budget.Plane(plain[i*dim:(i+1)*dim], field, int(level))
	}); err != nil {
		return err
	}
	return encryptedRows(ctx, w, m, cpar.SegmentPlanes, key.Key, plain, noise)
}

// encryptedRows encrypts rows at once and writes them as one segment.
func encryptedRows(ctx context.Context, w *indexdir.Writer, m *cpar.Manifest, kind cpar.SegmentKind, key *ive.Key, plain []int64, noise *ive.Noise, quiet ...int) error {
	words := make([]uint64, len(plain))
	if err := key.EncryptRecords(words, plain, noise, quiet...); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return segment(w, m, kind, func(to io.Writer) error {
		_, err := to.Write(wire.AppendWords(nil, words))
		return err
	})
}

// eachPlane calls f with every plane's number, the position of its field
// among SF, and its level.
func (b *Builder) eachPlane(f func(plane, field int, level uint16) error) error {
	field := 0
	for i, c := range b.profile.planes {
		if c.Dim != b.fields[field] {
			field++
		}
		if err := f(i, field, c.Value); err != nil {
			return fmt.Errorf("plane %d: %w", i, err)
		}
	}
	return nil
}

func (b *Builder) writeProfile(_ context.Context, w *indexdir.Writer, m *cpar.Manifest) error {
	sealed, err := sealProfile(b.profile, b.key.derive("profile", m.ID), b.opt.testOnlyRand)
	if err != nil {
		return err
	}
	return segment(w, m, cpar.SegmentLedger, func(to io.Writer) error {
		_, err := to.Write(sealed)
		return err
	})
}
