package user

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/user/internal/index"
	"cpar/user/internal/rows"
)

// An Update reports the result of an update. The new generation in the folder
// is activated atomically. A later push sends only new segments.
type Update struct {
	ID         cpar.IndexID `json:"index"`
	Generation uint64       `json:"generation"`
	Records    int          `json:"records"`
	Added      int          `json:"added"`
	// Changed counts the photos with new keywords. Only Sync sets it.
	Changed int `json:"changed"`
	// Unchanged counts the photos with the same keywords. Only Sync sets it.
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed"`
	// Missing lists the positions of photos given to Remove that have no live record.
	Missing []int `json:"missing"`
	// Clamped counts the added records whose vectors were shortened to fit the
	// cipher, 0 for ordinary photographs.
	Clamped int    `json:"clamped"`
	Bytes   uint64 `json:"bytes"`
	Written bool   `json:"written"`
}

type UpdateOptions struct {
	DryRun   bool
	Progress Progress

	testOnlyFS   durable.FS
	testOnlyRand io.Reader
}

// Add adds photos to the index (scheme sealed or local) in folder, without
// looking for duplicates. New records are appended in random order. Existing
// segments stay the same, except the last segments of records and keywords if
// they are incomplete, and the ledger.
func Add(ctx context.Context, key *Key, folder string, images []Photo, progress Progress) (*Update, error) {
	return update(key, folder, "adding to index", UpdateOptions{Progress: progress}, func(u *updater) error { return u.change(ctx, change{add: images}) })
}

// Remove removes the photos with these content digests from the index (scheme
// sealed or local) in folder. The vectors and keywords of removed photos stay
// in the index, encrypted, until Compact. The server does not learn which
// records were removed. If no digest matches, nothing is written.
func Remove(ctx context.Context, key *Key, folder string, contents [][32]byte, o UpdateOptions) (*Update, error) {
	return update(key, folder, "removing from index", o, func(u *updater) error { return u.remove(ctx, contents) })
}

// Compact replaces the index (scheme sealed or local) in folder by a new index
// without removed records and unused words. The new index has a new id with
// new secrets, but the same projection. The caller deletes the old id from the
// server afterwards.
func Compact(ctx context.Context, key *Key, folder string, o UpdateOptions) (*Update, error) {
	return update(key, folder, "compacting index", o, func(u *updater) error { return u.compact(ctx) })
}

// Rename renames the index in folder, which makes a new generation.
func Rename(ctx context.Context, key *Key, folder, name string, o UpdateOptions) (*Update, error) {
	return update(key, folder, "renaming index", o, func(u *updater) error {
		if err := CheckName(name); err != nil || name == u.owner.Name() {
			return err
		}
		return u.change(ctx, change{name: name})
	})
}

type updater struct {
	key        *Key
	folder     string
	random     io.Reader
	writer     *index.Writer
	old        *cpar.Manifest
	owner      *Owner
	rows       *rows.Index
	keywords   [][]string
	identities []identity
	// next is nil if nothing changed.
	next *Owner
	done Update
}

// update locks a folder and calls `work`, which writes a new generation.
func update(key *Key, folder, what string, o UpdateOptions, work func(*updater) error) (*Update, error) {
	if _, err := indexdir.ReadManifest(folder); err != nil { // checked first because indexdir.Create would create the folder
		return nil, err
	}
	fail := func(err error) (*Update, error) { return nil, fmt.Errorf("%s in %s: %w", what, folder, err) }
	u := &updater{key: key, folder: folder, random: o.testOnlyRand, writer: &index.Writer{Progress: o.Progress}, done: Update{Missing: []int{}}}
	if !o.DryRun {
		dir, err := indexdir.Create(folder, indexdir.Options{FS: o.testOnlyFS})
		if err != nil {
			return fail(err)
		}
		defer dir.Close()
		u.writer.Dir = dir
	}
	u.random = cmp.Or(u.random, rand.Reader)
	var err error
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
	u.done.ID, u.done.Generation, u.done.Records, u.done.Written = owner.ID(), owner.Generation(), owner.Records(), u.next != nil && !o.DryRun
	return &u.done, nil
}

func (u *updater) open() error {
	var err error
	if u.owner, err = open(u.key, u.old, u.fetch, u.random); err != nil {
		return err
	}
	var ok bool
	if u.rows, ok = schemes[u.old.Scheme].updatable(u.owner.scheme); !ok {
		return hint.Add(fmt.Errorf("%w: an index of scheme %v is made in one go", cpar.ErrInput, u.old.Scheme), "build it again with --replace, or as one of scheme %v", DefaultScheme)
	}
	taken := map[cpar.SegmentKind][][]byte{}
	for _, x := range u.owner.Needs(u.old) {
		if x.Kind == cpar.SegmentVectors || x.Kind == cpar.SegmentHints {
			continue // an update keeps these segments, except the last
		}
		b, err := u.fetch(x)
		if err != nil {
			return err
		}
		taken[x.Kind] = append(taken[x.Kind], b)
	}
	if err := u.rows.HoldSome(taken); err != nil {
		return err
	}
	if u.keywords, err = u.rows.KeywordsOf(); err != nil {
		return err
	}
	u.identities, err = readIdentities(u.owner.index, u.old, u.fetch)
	return err
}

func (u *updater) fetch(s cpar.Segment) ([]byte, error) { return indexdir.ReadSegment(u.folder, s) }

func (u *updater) segments(kinds ...cpar.SegmentKind) (list []cpar.Segment) {
	for _, x := range u.old.Segments {
		if slices.Contains(kinds, x.Kind) {
			list = append(list, x)
		}
	}
	return list
}

// keptKinds lists the kinds of segments that an update keeps, except perhaps the
// last segment of a kind.
var keptKinds = []cpar.SegmentKind{cpar.SegmentVectors, cpar.SegmentHints, cpar.SegmentKeywords, cpar.SegmentProfile, cpar.SegmentIdentities, cpar.SegmentCells}

// write writes the next generation: the altered ledger, the index made by
// `begin`, and the identities of all records.
func (u *updater) write(ctx context.Context, identities []identity, change func(l *ledger) error, begin func(x *index.Index) (*rows.Builder, error)) error {
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
	kept := keptKinds
	switch {
	case l.id != u.old.ID:
		err = l.fitVectors(ctx, b)
	case l.fold():
		kept = slices.DeleteFunc(slices.Clone(keptKinds), func(k cpar.SegmentKind) bool { return k == cpar.SegmentProfile })
	}
	if err != nil {
		return err
	}
	m := &cpar.Manifest{ID: l.id, Scheme: l.scheme, Records: uint32(l.records)}
	if l.id == u.old.ID {
		m.Segments = u.segments(kept...)
	}
	u.writer.Manifest = m
	next := newOwner(l, x, b)
	if err := next.write(ctx, u.writer, b, identities); err != nil {
		return err
	}
	u.next = next
	return nil
}

func (u *updater) compact(ctx context.Context) error {
	var kept []int
	all := rows.New(int(u.old.Dim))
	if err := u.rows.DecryptAll(ctx, u.segments(cpar.SegmentVectors), u.fetch, func(record int, row []int16, addend int64, removed bool) {
		if !removed {
			all.Add(row, addend)
			kept = append(kept, record)
		}
	}); err != nil {
		return err
	}
	u.done.Removed = int(u.old.Records) - len(kept)
	order, keywords, identities := u.permutation(len(kept)), make([][]string, len(kept)), make([]identity, len(kept))
	for i, from := range order {
		keywords[i], identities[i] = u.keywords[kept[from]], u.identities[kept[from]]
	}
	return u.write(ctx, identities, func(l *ledger) error {
		drawn := u.owner.index.Fresh("index", u.owner.Digest())
		copy(l.id[:], drawn[:])
		l.records, l.begun = len(kept), l.generation
		return l.begin(keywords)
	}, func(x *index.Index) (*rows.Builder, error) { return u.rows.Rebuild(x, all, order, keywords) })
}
