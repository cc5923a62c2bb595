package user

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/lattice"
	"cpar/user/internal/keyword"
)

// An Update says what became of an index. The folder holds the new state, which
// was activated in one step; pushing it sends what is new.
type Update struct {
	ID         cpar.IndexID `json:"index"`
	Generation uint64       `json:"generation"`
	// Records can be found afterwards.
	Records int `json:"records"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Missing are the places, among the images given to Remove, of those that no
	// record that could be found was of.
	Missing []int `json:"missing"`
	// Clamped is of the records that Add added those whose vector was moved
	// towards the baseline so that no score can wrap; 0 for photographs.
	Clamped int `json:"clamped"`
	// Bytes were written: segments that the state before did not have.
	Bytes uint64 `json:"bytes"`
}

// Add puts more images into the index of scheme sealed or local in folder, with
// the bases, baselines and projection that it was built with. The records that
// are there stay as they are, byte for byte; the new ones come in groups or
// blocks of their own, in random order; keywords, hints and profile are encrypted
// anew.
//
// Nothing that is drawn depends on what the folder holds, so that adding to a
// restored backup never uses a seed, a nonce or noise again.
func Add(ctx context.Context, key *Key, folder string, images []Image, progress Progress) (*Update, error) {
	return update(folder, indexdir.Options{}, "adding to index", func(s *state) error { return s.add(ctx, key, images, progress) })
}

// Remove takes those records out of the index of scheme sealed or local in folder
// whose vector is that of one of the images, keywords of the images aside. Which
// keywords they had is erased at once: their blocks are empty from then on. Until
// Compact their vectors stay, encrypted, and are passed over by the owner, and
// their words stay in the profile's dictionary, encrypted too, which Owner.Words
// lists; the cloud is not told which records they are. Update.Missing
// names the images without such a record; where that is all of them, nothing is
// written and Removed is 0.
func Remove(ctx context.Context, key *Key, folder string, images []Image) (*Update, error) {
	return update(folder, indexdir.Options{}, "removing from index", func(s *state) error { return s.remove(ctx, key, images) })
}

// state is an index in a folder that is being updated.
type state struct {
	folder string
	dir    *indexdir.Writer
	// old is the state before, next that after; next is nil where nothing was
	// to be done.
	old      *cpar.Manifest
	owner    *Owner
	keywords [][]string // of every record
	next     *exactWriter
	done     Update
}

// update locks a folder, lets work write a new state and reports it.
func update(folder string, opt indexdir.Options, what string, work func(*state) error) (*Update, error) {
	fail := func(err error) (*Update, error) { return nil, fmt.Errorf("%s in %s: %w", what, folder, err) }
	if _, err := indexdir.ReadManifest(folder); err != nil { // Create would make the folder
		return nil, err
	}
	dir, err := indexdir.Create(folder, opt)
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	s := &state{folder: folder, dir: dir, done: Update{Missing: []int{}}}
	if s.old, err = indexdir.ReadManifest(folder); err != nil {
		return nil, err
	}
	if err := work(s); err != nil {
		return fail(err)
	}
	owner := s.owner
	if s.next != nil {
		owner = s.next.Owner
		for _, x := range s.next.manifest.Segments {
			if !slices.Contains(s.old.Segments, x) {
				s.done.Bytes += x.Bytes
			}
		}
	}
	s.done.ID, s.done.Generation, s.done.Records = owner.ID(), owner.Generation(), owner.Records()
	return &s.done, nil
}

// open opens the index and everything of it that an update writes again.
func (s *state) open(key *Key) error {
	profile, _ := s.old.Segment(cpar.SegmentLedger)
	b, err := readSegment(s.folder, profile)
	if err != nil {
		return err
	}
	if s.owner, err = Open(key, s.old, b); err != nil {
		return err
	}
	if s.owner.exact == nil {
		return hint.Add(fmt.Errorf("%w: an index of scheme %v cannot be updated", cpar.ErrInput, s.old.Scheme), "build it again, or as one of scheme sealed")
	}
	segment, _ := s.old.Segment(cpar.SegmentKeywords)
	table, err := readSegment(s.folder, segment)
	if err != nil {
		return err
	}
	s.keywords = make([][]string, s.old.Records)
	for i := range s.keywords {
		if s.keywords[i], err = s.owner.sealer.Open(uint32(i), keywordBlock(table, uint32(i))); err != nil {
			return err
		}
	}
	return nil
}

// begin makes a writer of the next state of the same index: with the segments of
// vectors that are there and a copy of the profile.
func (s *state) begin(key *Key, change func(p *profile) error) error {
	p := *s.owner.profile
	exact := *p.exact
	exact.removed = bytes.Clone(exact.removed)
	exact.check.vector = slices.Clone(exact.check.vector)
	exact.generation++
	p.exact = &exact
	if err := change(&p); err != nil {
		return err
	}
	if err := p.checkNonces(); err != nil {
		return err
	}
	owner, err := newOwner(key, &p)
	if err != nil {
		return err
	}
	m := *s.old
	m.Records, m.Segments = p.records, nil
	w := &exactWriter{Owner: owner, dir: s.dir, manifest: &m, rand: rand.Reader, first: int(s.old.Records)}
	for _, x := range s.old.Segments {
		switch {
		case x.Kind == cpar.SegmentVectors:
			m.Segments = append(m.Segments, x)
			if m.Scheme == cpar.SchemeLocal {
				w.firstBlock += int(x.Bytes) / owner.exact.blocks.bytes()
			}
		case x.Kind == cpar.SegmentHints:
			b, err := readSegment(s.folder, x)
			if err != nil {
				return err
			}
			if w.hints, err = s.owner.openHints(b); err != nil {
				return err
			}
		}
	}
	s.next = w
	return nil
}

func (s *state) add(ctx context.Context, key *Key, images []Image, progress Progress) error {
	if len(images) == 0 || len(images) > cpar.MaxRecords-int(s.old.Records) {
		return fmt.Errorf("%w: %d images for an index of %d records", cpar.ErrInput, len(images), s.old.Records)
	}
	if err := s.open(key); err != nil {
		return err
	}
	images = slices.Clone(images)
	Shuffle(images)
	for i, im := range images {
		if err := checkKeywords(im.Keywords); err != nil {
			return fmt.Errorf("image %d: %w", i, err)
		}
		s.keywords = append(s.keywords, im.Keywords)
	}
	news, err := s.owner.quantised(ctx, images, progress)
	if err != nil {
		return err
	}
	err = s.begin(key, func(p *profile) (err error) {
		p.records += uint32(len(images))
		p.exact.removed = append(p.exact.removed, make([]byte, bitmapSize(p.records)-len(p.exact.removed))...)
		// Words of old stay, so that no number of a word tells what was added.
		if p.ranker != nil {
			p.ranker = p.ranker.Recounted(s.keywords)
		}
		p.dict, err = keyword.NewDictionary(append(s.keywords[:len(s.keywords):len(s.keywords)], p.dict.Words()))
		return err
	})
	if err != nil {
		return err
	}
	s.next.progress = progress
	s.done.Added, s.done.Clamped = len(images), news.clipped
	return s.next.write(ctx, news.source(), s.keywords)
}

// quantised lays images out as records of the index.
func (o *Owner) quantised(ctx context.Context, images []Image, progress Progress) (*plainRecords, error) {
	vectors, err := o.profile.vectors(ctx, images, progress)
	if err != nil {
		return nil, err
	}
	out := &plainRecords{dim: o.dim()}
	for i, v := range vectors {
		z, err := o.coder.embed(v)
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		row, addend, clipped, err := o.exact.record(z, v.KL)
		if err != nil {
			return nil, fmt.Errorf("image %d: %w", i, err)
		}
		if clipped {
			out.clipped++
		}
		out.add(row, addend)
	}
	return out, nil
}

// source is what an exactWriter encrypts.
func (r *plainRecords) source() records {
	return records{count: r.count(), at: func(i int) ([]int32, int64, error) { return r.row(i), r.addends[i], nil }}
}

func (s *state) remove(ctx context.Context, key *Key, images []Image) error {
	if len(images) == 0 {
		return fmt.Errorf("%w: no image to remove", cpar.ErrInput)
	}
	if err := s.open(key); err != nil {
		return err
	}
	wanted, err := s.owner.quantised(ctx, images, nil)
	if err != nil {
		return err
	}
	matched := map[string]bool{} // by vector of an image: whether a record has it
	for i := range wanted.count() {
		matched[rowKey(wanted.row(i))] = false
	}
	var found []int
	err = s.eachRecord(ctx, func(i int, row []int32, _ int64) {
		key := rowKey(row)
		if _, ok := matched[key]; ok && !s.owner.profile.exact.isRemoved(i) {
			matched[key] = true
			found = append(found, i)
		}
	})
	if err != nil {
		return err
	}
	for i := range wanted.count() {
		if !matched[rowKey(wanted.row(i))] {
			s.done.Missing = append(s.done.Missing, i)
		}
	}
	switch {
	case len(found) == 0:
		return nil
	case len(found) == s.owner.Records():
		return hint.Add(fmt.Errorf("%w: nothing would be left of the index", cpar.ErrInput), "delete the index instead")
	}
	if err := s.begin(key, func(p *profile) error {
		for _, i := range found {
			p.exact.remove(i)
			s.keywords[i] = nil
		}
		return nil
	}); err != nil {
		return err
	}
	s.done.Removed = len(found)
	return s.next.write(ctx, records{}, s.keywords)
}

// rowKey is a vector as a key of a map.
func rowKey(row []int32) string {
	b := make([]byte, 0, 2*len(row))
	for _, x := range row {
		b = binary.LittleEndian.AppendUint16(b, uint16(x))
	}
	return string(b)
}

// eachRecord decrypts every record of the state before, removed ones too.
func (s *state) eachRecord(ctx context.Context, each func(i int, row []int32, addend int64)) error {
	i := 0
	local := &plainRecords{dim: s.owner.dim()}
	for _, x := range s.old.Segments {
		if x.Kind != cpar.SegmentVectors {
			continue
		}
		b, err := readSegment(s.folder, x)
		if err != nil {
			return err
		}
		if s.old.Scheme == cpar.SchemeLocal {
			local.rows, local.addends = local.rows[:0], local.addends[:0]
			if err := s.owner.exact.blocks.openAll(local, b); err != nil {
				return err
			}
			for k := range local.count() {
				each(i, local.row(k), local.addends[k])
				i++
			}
			continue
		}
		if i, err = s.owner.eachInGroups(ctx, b, i, each); err != nil {
			return err
		}
	}
	if i != int(s.old.Records) {
		return fmt.Errorf("%w: %d records in it, its manifest names %d", cpar.ErrCorrupt, i, s.old.Records)
	}
	return nil
}

// eachInGroups decrypts the groups of a segment, the first record of which is
// number i, and returns the number after the last.
func (o *Owner) eachInGroups(ctx context.Context, b []byte, i int, each func(i int, row []int32, addend int64)) (int, error) {
	cipher, err := o.exact.cipher()
	if err != nil {
		return i, err
	}
	for size := o.exact.params.GroupSize(); len(b) > 0; b = b[min(size, len(b)):] {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		g, err := lattice.DecodeGroup(o.exact.params, b[:min(size, len(b))])
		if err != nil {
			return i, err
		}
		rows, addends, err := cipher.Decrypt(g)
		if err != nil {
			return i, err
		}
		for k, row := range rows {
			each(i, row, addends[k])
			i++
		}
	}
	return i, nil
}

// readSegment reads one segment of the index in folder and checks its digest.
func readSegment(folder string, s cpar.Segment) ([]byte, error) {
	if err := indexdir.CheckSegment(folder, s); err != nil {
		return nil, err
	}
	path := indexdir.SegmentPath(folder, s.Digest)
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("segment %v: %w: it is missing", s.Kind, cpar.ErrCorrupt)
		}
		return nil, durable.StorageError("opening", path, 0, err)
	}
	defer f.Close()
	b := make([]byte, s.Bytes)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, durable.StorageError("reading", path, 0, err)
	}
	return b, nil
}
