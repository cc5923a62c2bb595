package aspe

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"cpar"
	"cpar/internal/wire"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
	"cpar/user/ive"
)

// batch is the number of records encrypted at once, 5 MB of vectors.
const batch = 512

func (b *Builder) Write(ctx context.Context, w *index.Writer) error {
	b.Describe(w.Manifest)
	w.Manifest.KeywordBytes = keyword.Size
	steps := []func(context.Context, *index.Writer) error{b.writeVectors, b.writeKeywords}
	if b.forest != nil {
		steps = append(steps, b.writeForest, b.writePlanes)
	}
	if b.lists != nil {
		steps = append(steps, b.writeLists, b.writeCentroids)
	}
	for _, step := range steps {
		if err := step(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// writeVectors lays out and encrypts every record: C(V) = S⁻¹(wV + e).
func (b *Builder) writeVectors(ctx context.Context, w *index.Writer) error {
	key, err := b.vectors()
	if err != nil {
		return err
	}
	records := b.collection.Records
	noise := ive.NewNoise(b.Fresh("vectors", digest(records)))
	total := len(records)
	perChunk := max(1, index.ChunkBytes/(8*b.budget.Dim()))
	for first := 0; first < total; first += perChunk {
		last := min(first+perChunk, total)
		err := w.Segment(cpar.SegmentVectors, func(to io.Writer) error {
			for at := first; at < last; at += batch {
				if err := ctx.Err(); err != nil {
					return err
				}
				w.Progress.Report("encrypt", at, total)
				words, err := b.encryptRecords(key, noise, records, at, min(at+batch, last))
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
	w.Progress.Report("encrypt", total, total)
	return nil
}

func digest(records []index.Record) [sha256.Size]byte {
	d := index.NewDigest()
	for _, r := range records {
		index.Add(d, r.Z)
		index.Add(d, r.Vector.KL)
	}
	return d.Sum()
}

func (b *Builder) encryptRecords(key *ive.Key, noise *ive.Noise, records []index.Record, first, last int) ([]uint64, error) {
	plain, err := b.layOut(records[first:last], noise)
	if err != nil {
		return nil, fmt.Errorf("records from %d: %w", first, err)
	}
	words := make([]uint64, len(plain))
	return words, key.EncryptRecords(words, plain, noise, b.budget.NoiselessSlot())
}

// layOut returns the plaintext vectors of records, row by row.
func (b *Builder) layOut(records []index.Record, noise *ive.Noise) ([]int64, error) {
	dim := b.budget.Dim()
	plain := make([]int64, dim*len(records))
	for i, r := range records {
		if err := b.budget.Record(plain[i*dim:(i+1)*dim], r.Z, r.Vector.KL, noise.Epsilon()); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return plain, nil
}

func (b *Builder) writeKeywords(ctx context.Context, w *index.Writer) error {
	table, err := b.Keywords.EncryptAll(b.collection.Keywords(), b.Source, b.Generation)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.Bytes(cpar.SegmentKeywords, table)
}

func (b *Builder) writeForest(_ context.Context, w *index.Writer) error {
	m := w.Manifest
	m.Place, m.Planes, m.OrderBytes = b.place, b.forest.Planes, b.part.order.bytes()
	f := cpar.Forest{Forest: *b.forest, Cuts: make([]cpar.Plane, len(b.part.planes))}
	if err := b.eachPlane(func(i, field int, level uint16) error {
		order, err := b.order(field, level)
		f.Cuts[i] = cpar.Plane{Field: uint16(field), Order: order}
		return err
	}); err != nil {
		return err
	}
	enc, err := f.AppendBinary(nil, m.OrderBytes)
	if err != nil {
		return err
	}
	return w.Bytes(cpar.SegmentForest, enc)
}

// writePlanes encrypts one plane for each distinct split.
func (b *Builder) writePlanes(ctx context.Context, w *index.Writer) error {
	if len(b.part.planes) == 0 { // there is one photo, or all photos are alike
		return w.Bytes(cpar.SegmentPlanes, nil)
	}
	key, err := b.planes()
	if err != nil {
		return err
	}
	w.Manifest.PlaneShift = uint8(key.Params().RecordShift + key.Params().RequestShift)
	dim := key.budget.Dim()
	plain := make([]int64, dim*len(b.part.planes))
	if err := b.eachPlane(func(i, field int, level uint16) error {
		return key.budget.Plane(plain[i*dim:(i+1)*dim], field, int(level))
	}); err != nil {
		return err
	}
	d := index.NewDigest()
	index.Add(d, plain)
	return encryptedRows(ctx, w, cpar.SegmentPlanes, key.Key, plain, ive.NewNoise(b.Fresh("planes", d.Sum())))
}

func encryptedRows(ctx context.Context, w *index.Writer, kind cpar.SegmentKind, key *ive.Key, plain []int64, noise *ive.Noise, quiet ...int) error {
	words := make([]uint64, len(plain))
	if err := key.EncryptRecords(words, plain, noise, quiet...); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.Bytes(kind, wire.AppendWords(nil, words))
}

// eachPlane calls f with every plane's number, the position of its field among
// the split fields SF, and its level.
func (b *Builder) eachPlane(f func(plane, field int, level uint16) error) error {
	for i, p := range b.part.planes {
		field, _ := slices.BinarySearch(b.fields, p.Dim)
		if err := f(i, field, p.Value); err != nil {
			return fmt.Errorf("plane %d: %w", i, err)
		}
	}
	return nil
}

func (b *Builder) writeLists(_ context.Context, w *index.Writer) error {
	var enc []byte
	for _, first := range b.lists.First[:b.lists.Len()] {
		enc = binary.LittleEndian.AppendUint32(enc, first)
	}
	return w.Bytes(cpar.SegmentLists, enc)
}

func (b *Builder) writeCentroids(ctx context.Context, w *index.Writer) error {
	key, err := b.vectors()
	if err != nil {
		return err
	}
	noise := ive.NewNoise(b.Fresh("centroids", digest(b.centroids)))
	plain, err := b.layOut(b.centroids, noise)
	if err != nil {
		return fmt.Errorf("centroids: %w", err)
	}
	return encryptedRows(ctx, w, cpar.SegmentCentroids, key, plain, noise, b.budget.NoiselessSlot())
}
