package user

import (
	"context"
	"crypto/rand"
	"fmt"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/user/internal/keyword"
	"cpar/user/internal/seed"
)

// Compact makes a new index, with a new id, of what was not removed from the one
// of scheme sealed or local in folder, and puts it in its place. Records are
// decrypted with the key, shuffled and encrypted under secrets of the new id;
// words that no record has any more go. The vectors stay those of the projection
// that they were made with. An index at the cloud under the old id is the
// caller's to delete, once the new one is there.
func Compact(ctx context.Context, key *Key, folder string) (*Update, error) {
	return update(folder, indexdir.Options{}, "compacting index", func(s *state) error { return s.compact(ctx, key) })
}

func (s *state) compact(ctx context.Context, key *Key) error {
	if err := s.open(key); err != nil {
		return err
	}
	kept, keywords, err := s.keep(ctx)
	if err != nil {
		return err
	}
	s.done.Removed = int(s.old.Records) - kept.count()
	var secret [seed.Size]byte
	rand.Read(secret[:])
	order := seed.New(secret).Perm(kept.count())
	shuffled := make([][]string, len(order))
	for i, from := range order {
		shuffled[i] = keywords[from]
	}

	before := s.owner.profile
	p := *before
	rand.Read(p.id[:])
	p.records = uint32(kept.count())
	if p.dict, err = keyword.NewDictionary(shuffled); err != nil {
		return err
	}
	if p.ranker != nil { // it counts words too
		p.ranker = p.ranker.Recounted(shuffled)
	}
	if err := p.startExact(before.exact.params.Block); err != nil {
		return err
	}
	p.exact.origin = before.exact.origin
	p.exact.generation = before.exact.generation + 1
	p.exact.begun = p.exact.generation
	owner, err := newOwner(key, &p)
	if err != nil {
		return err
	}
	s.next = &exactWriter{Owner: owner, dir: s.dir, rand: rand.Reader, manifest: &cpar.Manifest{
		Scheme: s.old.Scheme, ID: p.id, Records: p.records, Dim: s.old.Dim, KeywordBytes: s.old.KeywordBytes,
	}}
	return s.next.write(ctx, records{count: len(order), at: func(i int) ([]int32, int64, error) {
		return kept.row(order[i]), kept.addends[order[i]], nil
	}}, shuffled)
}

// keep decrypts the records that were not removed, and their keywords. The check
// of scores is one of records too: what does not fit it was not decrypted right.
func (s *state) keep(ctx context.Context) (*plainRecords, [][]string, error) {
	kept := &plainRecords{dim: s.owner.dim()}
	var keywords [][]string
	before := s.owner.profile.exact
	sums := checkSums{vector: make([]uint64, s.owner.dim())}
	err := s.eachRecord(ctx, func(i int, row []int32, addend int64) {
		if s.old.Scheme == cpar.SchemeSealed {
			sums.add(rho(s.owner.exact.rho, i), row, addend)
		}
		if !before.isRemoved(i) {
			kept.add(row, addend)
			keywords = append(keywords, s.keywords[i])
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if s.old.Scheme == cpar.SchemeSealed && !sums.equal(before.check) {
		return nil, nil, fmt.Errorf("%w: its records are not those that its profile was made with", cpar.ErrCorrupt)
	}
	return kept, keywords, nil
}
