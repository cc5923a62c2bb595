package user

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
	"cpar/user/internal/rows"
	"cpar/user/rank"
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
	// Missing are the indices of images given to Remove that match no live record.
	Missing []int `json:"missing"`
	// Clamped counts the added records whose vector was moved towards the baseline
	// so that no score can wrap; 0 for photographs.
	Clamped int `json:"clamped"`
	// Bytes were written: segments that the state before did not have.
	Bytes uint64 `json:"bytes"`
}

// Add puts more images into the index of scheme sealed or local in folder, with
// the bases, baselines and projection that it was built with. The records that
// are there stay as they are, byte for byte; the new ones come in groups or
// blocks of their own, in random order; keywords, hints and ledger are encrypted
// anew.
func Add(ctx context.Context, key *Key, folder string, images []Image, progress Progress) (*Update, error) {
	return update(key, folder, "adding to index", updateOptions{progress: progress}, func(u *updating) error { return u.add(ctx, images) })
}

// Remove takes those records out of the index of scheme sealed or local in folder
// whose vector is that of one of the images, keywords of the images aside. Which
// keywords they had is erased at once: their blocks are empty from then on. Until
// Compact their vectors stay, encrypted, and are passed over by the owner, and
// their words stay in the ledger's dictionary, encrypted too, which Owner.Words
// lists; the cloud is not told which records they are. Update.Missing
// names the images without such a record; where that is all of them, nothing is
// written and Removed is 0.
func Remove(ctx context.Context, key *Key, folder string, images []Image) (*Update, error) {
	return update(key, folder, "removing from index", updateOptions{}, func(u *updating) error { return u.remove(ctx, images) })
}

// Compact makes a new index, with a new id, of what was not removed from the one
// of scheme sealed or local in folder, and puts it in its place. Records are
// decrypted with the key, shuffled and encrypted under secrets of the new id;
// words that no record has any more go. The vectors stay those of the projection
// that they were made with. An index at the cloud under the old id is the
// caller's to delete, once the new one is there.
func Compact(ctx context.Context, key *Key, folder string) (*Update, error) {
	return update(key, folder, "compacting index", updateOptions{}, func(u *updating) error { return u.compact(ctx) })
}

// updateOptions are what updates have in common.
type updateOptions struct {
	progress Progress
	// testOnlyFS stands for the disk, testOnlyRand for crypto/rand. Never set outside
	// tests.
	testOnlyFS   durable.FS
	testOnlyRand io.Reader
}

// updating is an index in a folder that is being updated.
type updating struct {
	key    *Key
	folder string
	random io.Reader
	writer *index.Writer
	// old is the state before, owner its owner, rows the owner's scheme.
	old      *cpar.Manifest
	owner    *Owner
	rows     *rows.Index
	keywords [][]string // of every record
	// next is the owner of the state after; nil where nothing was to be done.
	next *Owner
	done Update
}

// update locks a folder, lets work write a new state and reports it.
func update(key *Key, folder, what string, o updateOptions, work func(*updating) error) (*Update, error) {
	if _, err := indexdir.ReadManifest(folder); err != nil { // Create would make the folder
		return nil, err
	}
	fail := func(err error) (*Update, error) { return nil, fmt.Errorf("%s in %s: %w", what, folder, err) }
	dir, err := indexdir.Create(folder, indexdir.Options{FS: o.testOnlyFS})
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	u := &updating{key: key, folder: folder, random: o.testOnlyRand, writer: &index.Writer{Dir: dir, Progress: o.progress}, done: Update{Missing: []int{}}}
	if u.random == nil {
		u.random = rand.Reader
	}
	if u.old, err = indexdir.ReadManifest(folder); err != nil {
		return nil, err
	}
	if err := u.open(); err != nil {
		return fail(err)
	}
	if err := work(u); err != nil {
		return fail(err)
	}
	owner := u.owner
	if u.next != nil {
		owner = u.next
		for _, x := range u.writer.Manifest.Segments {
			if !slices.Contains(u.old.Segments, x) {
				u.done.Bytes += x.Bytes
			}
		}
	}
	u.done.ID, u.done.Generation, u.done.Records = owner.ID(), owner.Generation(), owner.Records()
	return &u.done, nil
}

// open opens the index and everything of it that an update writes again.
func (u *updating) open() error {
	ledger, _ := u.old.Segment(cpar.SegmentLedger)
	b, err := indexdir.ReadSegment(u.folder, ledger)
	if err != nil {
		return err
	}
	if u.owner, err = open(u.key, u.old, b, u.random); err != nil {
		return err
	}
	var ok bool
	if u.rows, ok = u.owner.scheme.(*rows.Index); !ok {
		return hint.Add(fmt.Errorf("%w: an index of scheme %v is made in one go", cpar.ErrInput, u.old.Scheme), "build it again, or as one of scheme %v", DefaultScheme)
	}
	taken := map[cpar.SegmentKind][][]byte{}
	for _, x := range u.owner.Needs(u.old) {
		if x.Kind == cpar.SegmentVectors {
			continue // they stay as they are
		}
		if b, err = indexdir.ReadSegment(u.folder, x); err != nil {
			return err
		}
		taken[x.Kind] = append(taken[x.Kind], b)
	}
	if err := u.rows.HoldSome(taken); err != nil {
		return err
	}
	u.keywords, err = u.rows.KeywordsOf()
	return err
}

// vectorSegments are the vectors of the state before.
func (u *updating) vectorSegments() (list []cpar.Segment, bytes uint64) {
	for _, x := range u.old.Segments {
		if x.Kind == cpar.SegmentVectors {
			list = append(list, x)
			bytes += x.Bytes
		}
	}
	return list, bytes
}

// write writes the next state: a ledger that change makes of this one's, and what
// begin makes of its index.
func (u *updating) write(ctx context.Context, change func(l *ledger) error, begin func(x *index.Index) (*rows.Builder, error)) error {
	l := u.owner.ledger.after()
	if err := change(l); err != nil {
		return err
	}
	if err := l.checkNonces(); err != nil {
		return err
	}
	x, err := l.index(u.key, u.random)
	if err != nil {
		return err
	}
	b, err := begin(x)
	if err != nil {
		return err
	}
	m := &cpar.Manifest{ID: l.id, Scheme: l.scheme, Records: uint32(l.records)}
	if l.id == u.old.ID {
		m.Segments, _ = u.vectorSegments()
	}
	u.writer.Manifest = m
	next := newOwner(l, x, b)
	if err := next.write(ctx, u.writer, b); err != nil {
		return err
	}
	u.next = next
	return nil
}

// recount gives the ledger's ranker the keywords of all records.
func (l *ledger) recount(keywords [][]string) {
	if c, ok := l.ranker.(*rank.Calibrated); ok {
		l.ranker = c.Recounted(keywords)
	}
}

func (u *updating) add(ctx context.Context, images []Image) error {
	if len(images) == 0 || len(images) > cpar.MaxRecords-int(u.old.Records) {
		return fmt.Errorf("%w: %d images for an index of %d records", cpar.ErrInput, len(images), u.old.Records)
	}
	if err := checkKeywords(images); err != nil {
		return err
	}
	shuffled := make([]Image, len(images))
	for i, from := range u.permutation(len(images)) {
		shuffled[i] = images[from]
	}
	v, err := vectors(ctx, u.owner.Profile(), shuffled, u.writer.Progress)
	if err != nil {
		return err
	}
	added, clamped, err := u.rows.RowsOf(v)
	if err != nil {
		return err
	}
	u.keywords = append(u.keywords, Keywords(shuffled)...)
	u.done.Added, u.done.Clamped = len(images), clamped
	return u.write(ctx, func(l *ledger) (err error) {
		l.records += len(images)
		l.recount(u.keywords)
		// Old words stay, so that no number of a word tells what was added.
		l.dict, err = keyword.NewDictionary(append(u.keywords[:len(u.keywords):len(u.keywords)], l.dict.Words()))
		return err
	}, func(x *index.Index) (*rows.Builder, error) { return u.grown(x, added, nil), nil })
}

func (u *updating) remove(ctx context.Context, images []Image) error {
	if len(images) == 0 {
		return fmt.Errorf("%w: no image to remove", cpar.ErrInput)
	}
	v, err := vectors(ctx, u.owner.Profile(), images, nil)
	if err != nil {
		return err
	}
	wanted, _, err := u.rows.RowsOf(v)
	if err != nil {
		return err
	}
	matched := map[string]bool{} // by row of an image: whether a record has it
	for i := range wanted.Len() {
		matched[rowKey(wanted.At(i))] = false
	}
	var found []int
	if err := u.each(ctx, func(record int, row []int16, addend int64, removed bool) {
		key := rowKey(row, addend)
		if _, ok := matched[key]; ok && !removed {
			matched[key] = true
			found = append(found, record)
		}
	}); err != nil {
		return err
	}
	for i := range wanted.Len() {
		if !matched[rowKey(wanted.At(i))] {
			u.done.Missing = append(u.done.Missing, i)
		}
	}
	switch {
	case len(found) == 0:
		return nil
	case len(found) == u.owner.Records():
		return hint.Add(fmt.Errorf("%w: nothing would be left of the index", cpar.ErrInput), "delete the index instead")
	}
	for _, i := range found {
		u.keywords[i] = nil
	}
	u.done.Removed = len(found)
	return u.write(ctx, func(*ledger) error { return nil }, func(x *index.Index) (*rows.Builder, error) { return u.grown(x, nil, found), nil })
}

func (u *updating) compact(ctx context.Context) error {
	var kept []int
	all := rows.New(int(u.old.Dim))
	if err := u.each(ctx, func(record int, row []int16, addend int64, removed bool) {
		if !removed {
			all.Add(row, addend)
			kept = append(kept, record)
		}
	}); err != nil {
		return err
	}
	u.done.Removed = int(u.old.Records) - len(kept)
	order, keywords := u.permutation(len(kept)), make([][]string, len(kept))
	for i, from := range order {
		keywords[i] = u.keywords[kept[from]]
	}
	return u.write(ctx, func(l *ledger) (err error) {
		drawn := u.owner.index.Fresh("index", u.owner.State())
		copy(l.id[:], drawn[:])
		l.records, l.begun = len(kept), l.generation
		l.recount(keywords)
		l.dict, err = keyword.NewDictionary(keywords)
		return err
	}, func(x *index.Index) (*rows.Builder, error) { return u.rows.Rebuild(x, all, order, keywords) })
}

// grown begins the next state of the same index.
func (u *updating) grown(x *index.Index, add *rows.Rows, removed []int) *rows.Builder {
	_, bytes := u.vectorSegments()
	if add == nil {
		add = rows.New(int(u.old.Dim))
	}
	return u.rows.Next(x, rows.Change{Add: add, Removed: removed, Keywords: u.keywords, VectorBytes: bytes})
}

// each decrypts every record of the state before.
func (u *updating) each(ctx context.Context, each func(record int, row []int16, addend int64, removed bool)) error {
	segments, _ := u.vectorSegments()
	return u.rows.DecryptAll(ctx, segments, func(x cpar.Segment) ([]byte, error) { return indexdir.ReadSegment(u.folder, x) }, each)
}

// rowKey is a row as a key of a map. Its addend follows from it.
func rowKey(row []int16, _ int64) string {
	b := make([]byte, 0, 2*len(row))
	for _, x := range row {
		b = binary.LittleEndian.AppendUint16(b, uint16(x))
	}
	return string(b)
}
