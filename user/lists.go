package user

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/ivf"
	"cpar/user/cluster"
	"cpar/user/combined"
)

// A centroid is a record that no photo is behind: the mean of a list.
type centroid struct {
	z  []int32
	kl []float64
}

// cluster divides the records into lists and renumbers them, so that those of
// a list lie together: what is read together is stored together.
func (b *Builder) cluster(ctx context.Context, key *Key, p *profile) error {
	histograms := make([][]float64, len(b.vectors))
	for i, v := range b.vectors {
		histograms[i] = v.KL
	}
	b.opt.Progress.Report("lists", 0, len(b.z))
	// Where the first centroids are drawn from is no matter of secrecy, but it
	// costs nothing to keep it one.
	found, err := cluster.Photos(ctx, b.z, histograms, b.budget.Unit(), cluster.Options{Lists: b.opt.Lists, Seed: key.derive("lists", p.id)})
	if err != nil {
		return err
	}
	b.lists = &ivf.Lists{First: found.First}
	b.centroids = make([]centroid, found.Len())
	for i := range b.centroids {
		z, kl := found.Centroid(i, b.z, histograms)
		b.centroids[i] = centroid{z, kl}
	}
	p.lists = uint32(found.Len())
	b.reorder(found.Order)
	b.opt.Progress.Report("lists", len(b.z), len(b.z))
	return nil
}

// reorder renumbers the records: record i is what was record order[i].
func (b *Builder) reorder(order []uint32) {
	b.images = inOrder(b.images, order)
	b.vectors = inOrder(b.vectors, order)
	b.z = inOrder(b.z, order)
	b.keywords = inOrder(b.keywords, order)
}

func inOrder[T any](x []T, order []uint32) []T {
	out := make([]T, len(x))
	for i, from := range order {
		out[i] = x[from]
	}
	return out
}

// record lays out a record or a centroid in dst: its vector of integers.
func (b *Builder) record(dst []int64, z []int32, kl []float64, epsilon int64) (clamped bool, err error) {
	clamped = b.budget.Clamp(z)
	square, err := combined.SquaredNorm(z)
	if err != nil {
		return clamped, err
	}
	b.profile.farthest = max(b.profile.farthest, square)
	return clamped, b.budget.Record(dst, z, kl, epsilon)
}

// writeLists writes where each list begins.
func (b *Builder) writeLists(_ context.Context, w *indexdir.Writer, m *cpar.Manifest) error {
	m.Lists = uint32(b.lists.Len())
	var enc []byte
	for _, first := range b.lists.First[:b.lists.Len()] {
		enc = binary.LittleEndian.AppendUint32(enc, first)
	}
	return segment(w, m, cpar.SegmentLists, func(to io.Writer) error {
		_, err := to.Write(enc)
		return err
	})
}

// writeCentroids encrypts the centroids as records are.
func (b *Builder) writeCentroids(ctx context.Context, w *indexdir.Writer, m *cpar.Manifest) error {
	key, err := b.Owner.vectors()
	if err != nil {
		return err
	}
	noise, err := b.noise()
	if err != nil {
		return err
	}
	dim := b.budget.Dim()
	plain := make([]int64, dim*len(b.centroids))
	for i, c := range b.centroids {
		if _, err := b.record(plain[i*dim:(i+1)*dim], c.z, c.kl, noise.Epsilon()); err != nil {
			return fmt.Errorf("centroid %d: %w", i, err)
		}
	}
	return encryptedRows(ctx, w, m, cpar.SegmentCentroids, key, plain, noise, b.budget.QuietSlot())
}
