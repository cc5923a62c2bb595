package user

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
	"cpar/user/internal/keyword"
	"cpar/user/internal/sealed"
)

// records are those that are to be encrypted: how many, and how to make one.
type records struct {
	count int
	at    func(i int) (row []int32, addend int64, err error)
}

// An exactWriter writes the segments of an index of scheme sealed or local: a
// whole one, or what an update adds. The owner's profile is that of the new state.
type exactWriter struct {
	*Owner
	dir      *indexdir.Writer
	manifest *cpar.Manifest
	rand     io.Reader
	progress Progress
	// hints of the records that are there already; those of new ones are added.
	hints *sealed.Hints
	// first and firstBlock number the next new record and block.
	first, firstBlock int
}

// encryptExact writes and activates the index of a Builder.
func (b *Builder) encryptExact(ctx context.Context, dir *indexdir.Writer, m *cpar.Manifest) error {
	w := &exactWriter{Owner: b.Owner, dir: dir, manifest: m, rand: b.opt.testOnlyRand, progress: b.opt.Progress}
	rows := records{count: len(b.vectors), at: func(i int) ([]int32, int64, error) {
		row, addend, clipped, err := b.exact.record(widenZ(b.z[i]), b.vectors[i].KL)
		if clipped {
			b.Clamped++
		}
		return row, addend, err
	}}
	return w.write(ctx, rows, b.keywords)
}

func widenZ(z []int16) []int32 {
	out := make([]int32, len(z))
	for i, x := range z {
		out[i] = int32(x)
	}
	return out
}

// write adds new records, writes the keywords of all and everything else that
// changes, and activates the result.
func (w *exactWriter) write(ctx context.Context, news records, keywords [][]string) error {
	if err := w.writeNew(ctx, news); err != nil {
		return err
	}
	if err := w.writeKeywords(ctx, keywords); err != nil {
		return err
	}
	if w.profile.scheme == cpar.SchemeSealed {
		if err := w.writeParamsAndHints(); err != nil {
			return err
		}
	}
	// In the manifest's order; the profile last, since it vouches for the rest.
	w.sort()
	w.profile.exact.contents = contents(w.manifest)
	sealed, err := sealProfile(w.profile, w.key.derive("profile", w.ID()), w.rand)
	if err != nil {
		return err
	}
	if err := w.segment(cpar.SegmentLedger, sealed); err != nil {
		return err
	}
	w.sort()
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.dir.Activate(w.manifest)
}

func (w *exactWriter) sort() {
	slices.SortStableFunc(w.manifest.Segments, func(a, b cpar.Segment) int { return cmp.Compare(a.Kind, b.Kind) })
}

func (w *exactWriter) segment(k cpar.SegmentKind, bytes []byte) error {
	return segment(w.dir, w.manifest, k, func(to io.Writer) error {
		_, err := to.Write(bytes)
		return err
	})
}

// writeNew encrypts the new records, as segments of their own.
func (w *exactWriter) writeNew(ctx context.Context, news records) error {
	write, perUnit, size := w.writeGroups, w.exact.params.Records(), w.exact.params.GroupSize()
	if w.profile.scheme == cpar.SchemeLocal {
		write, perUnit, size = w.writeBlocks, cpar.LocalBlockRecords, w.exact.blocks.bytes()
	} else if w.hints == nil {
		var err error
		if w.hints, err = sealed.NewHints(w.exact.params, w.ID()); err != nil {
			return err
		}
	}
	perSegment := perUnit * max(1, chunkBytes/size)
	for from := 0; from < news.count; from += perSegment {
		to := min(from+perSegment, news.count)
		err := segment(w.dir, w.manifest, cpar.SegmentVectors, func(out io.Writer) error {
			// As many units at once as there are processors, a few times.
			for at := from; at < to; at += 8 * perUnit {
				if err := ctx.Err(); err != nil {
					return err
				}
				w.progress.Report("encrypt", at, news.count)
				if err := w.writeUnits(out, news, at, min(at+8*perUnit, to), perUnit, write); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	w.progress.Report("encrypt", news.count, news.count)
	return nil
}

// writeUnits lays records from to before to out, counts them, and writes them.
func (w *exactWriter) writeUnits(out io.Writer, news records, from, to, perUnit int, write func(io.Writer, [][][]int32, [][]int64) error) error {
	var rows [][][]int32
	var addends [][]int64
	for at := from; at < to; at++ {
		row, addend, err := news.at(at)
		if err != nil {
			return fmt.Errorf("record %d: %w", w.first, err)
		}
		if (at-from)%perUnit == 0 {
			rows, addends = append(rows, nil), append(addends, nil)
		}
		last := len(rows) - 1
		rows[last], addends[last] = append(rows[last], row), append(addends[last], addend)
		if w.profile.scheme == cpar.SchemeSealed {
			w.profile.exact.check.add(rho(w.exact.rho, w.first), row, addend)
		}
		w.first++
	}
	return write(out, rows, addends)
}

// writeGroups encrypts groups of scheme sealed, each with a seed and noise of its
// own, and makes their hints.
func (w *exactWriter) writeGroups(out io.Writer, rows [][][]int32, addends [][]int64) error {
	cipher, err := w.exact.cipher()
	if err != nil {
		return err
	}
	groups := make([]*lattice.Group, len(rows))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	if w.rand != rand.Reader { // a test that pins bytes
		cipher.TestOnlyRand(w.rand)
		work.SetLimit(1)
	}
	for i := range rows {
		work.Go(func() (err error) {
			groups[i], err = cipher.Encrypt(rows[i], addends[i])
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	var b []byte
	for _, g := range groups {
		if err := w.hints.Append(g); err != nil {
			return err
		}
		b = g.AppendBinary(b[:0])
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// writeBlocks encrypts blocks of scheme local.
func (w *exactWriter) writeBlocks(out io.Writer, rows [][][]int32, addends [][]int64) error {
	var b []byte
	for i := range rows {
		var err error
		if b, err = w.exact.blocks.seal(b[:0], uint32(w.firstBlock), rows[i], addends[i], w.rand); err != nil {
			return err
		}
		w.firstBlock++
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// writeKeywords encrypts the keywords of all records, each under a fresh random
// nonce. An update writes all of them again under the same key, so that it does not
// show which record's changed; checkNonces counts what that comes to.
func (w *exactWriter) writeKeywords(ctx context.Context, keywords [][]string) error {
	table := make([]byte, 0, keyword.SealedSize*len(keywords))
	for i, words := range keywords {
		var err error
		if table, err = w.sealer.Seal(table, uint32(i), words, w.rand); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.segment(cpar.SegmentKeywords, table)
}

func (w *exactWriter) writeParamsAndHints() error {
	params, err := w.exact.params.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := w.segment(cpar.SegmentParams, params); err != nil {
		return err
	}
	aead, err := profileCipher(w.key.derive("hints", w.ID()))
	if err != nil {
		return err
	}
	nonce := make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(w.rand, nonce); err != nil {
		return fmt.Errorf("encrypting hints: drawing a nonce: %w", err)
	}
	return w.segment(cpar.SegmentHints, aead.Seal(nonce, nonce, w.hints.AppendBinary(nil), w.profile.hintsBinding()))
}
