package user

import (
	"context"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/feature"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
	"cpar/user/internal/rows"
)

// Distinct finds duplicates in a collection. Element first[i] is the position
// of the first photo with the content of photo i. The first photo receives the
// keywords of all its duplicates, up to a record's limit.
func Distinct(photos []Photo) (keywords [][]string, first []int) {
	keywords, first = make([][]string, len(photos)), make([]int, len(photos))
	seen := map[[32]byte]int{}
	for i, p := range photos {
		of, again := seen[p.Content]
		if !again || p.Content == [32]byte{} {
			seen[p.Content], first[i], keywords[i] = i, i, slices.Clone(p.Keywords)
			continue
		}
		first[i] = of
		for _, w := range p.Keywords {
			if len(keywords[of]) < keyword.Max && !slices.Contains(keywords[of], w) {
				keywords[of] = append(keywords[of], w)
			}
		}
	}
	return keywords, first
}

type SyncOptions struct {
	UpdateOptions
	// RemoveMissing removes records of photos that are not in the collection.
	RemoveMissing bool
	// IncludePeople determines whether names of people count as keywords from
	// now on.
	IncludePeople bool
	// AllowMajority permits removing more than half of the records.
	AllowMajority bool
	// Features computes the features of the new photos at the given positions.
	// Photos with a nil result are left out.
	Features func(ctx context.Context, o *Owner, photos []int) ([]*feature.Vectors, error)
}

// Sync updates the index (scheme sealed or local) in folder to match a
// collection. It compares photos by content and merges duplicates. If nothing
// changed, Sync writes nothing.
func Sync(ctx context.Context, key *Key, folder string, photos []Photo, o SyncOptions) (*Update, error) {
	return update(key, folder, "updating index", o.UpdateOptions, func(u *updater) error { return u.sync(ctx, photos, o) })
}

func (u *updater) sync(ctx context.Context, photos []Photo, o SyncOptions) error {
	keywords, first := Distinct(photos)
	records, identify := u.byIdentity(), identify(u.key, u.owner.Origin())
	c, held, fresh := change{keywords: map[int][]string{}}, map[int]bool{}, []int{}
	for i, p := range photos {
		if first[i] != i {
			continue
		}
		of := records[identify(p.Content)]
		if len(of) == 0 || p.Content == [32]byte{} {
			fresh = append(fresh, i)
			continue
		}
		changed := false
		for _, record := range of {
			held[record] = true
			// A copy without keywords removes none.
			if len(keywords[i]) > 0 && !sameWords(u.keywords[record], keywords[i]) {
				changed, c.keywords[record] = true, keywords[i]
			}
		}
		if changed {
			u.done.Changed++
		} else {
			u.done.Unchanged++
		}
	}
	if o.RemoveMissing {
		for record := range u.identities {
			if !u.rows.Removed(record) && !held[record] {
				c.remove = append(c.remove, record)
			}
		}
		if n := u.owner.Records(); 2*len(c.remove) > n && !o.AllowMajority {
			return hint.Add(fmt.Errorf("%w: the collection holds fewer than half of the %d photos of the index, and %d would be removed", cpar.ErrInput, n, len(c.remove)),
				"is it the right folder, and is it complete? If so, pass --yes")
		}
	}
	if len(fresh) > 0 {
		vectors, err := o.Features(ctx, u.owner, fresh)
		if err != nil {
			return err
		}
		for k, i := range fresh {
			if vectors[k] != nil {
				p := photos[i]
				p.Vectors, p.Keywords = vectors[k], keywords[i]
				c.add = append(c.add, p)
			}
		}
	}
	if now := u.owner.ledger.choices; now.people != o.IncludePeople {
		now.people = o.IncludePeople
		c.choices = &now
	}
	if len(c.add)+len(c.remove)+len(c.keywords) == 0 && c.choices == nil {
		return nil
	}
	return u.change(ctx, c)
}

func (u *updater) byIdentity() map[identity][]int {
	out := map[identity][]int{}
	for record, id := range u.identities {
		if id != (identity{}) && !u.rows.Removed(record) {
			out[id] = append(out[id], record)
		}
	}
	return out
}

func sameWords(a, b []string) bool {
	if slices.Equal(a, b) {
		return true
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

func (u *updater) remove(ctx context.Context, contents [][32]byte) error {
	if len(contents) == 0 {
		return fmt.Errorf("%w: no photo to remove", cpar.ErrInput)
	}
	records, identify := u.byIdentity(), identify(u.key, u.owner.Origin())
	gone := map[int]bool{}
	for i, content := range contents {
		found := records[identify(content)]
		if len(found) == 0 || content == [32]byte{} {
			u.done.Missing = append(u.done.Missing, i)
		}
		for _, record := range found {
			gone[record] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	var c change
	for record := range u.identities {
		if gone[record] {
			c.remove = append(c.remove, record)
		}
	}
	return u.change(ctx, c)
}

type change struct {
	add      []Photo
	remove   []int            // record numbers
	keywords map[int][]string // new keywords by record
	name     string           // new name, "" to keep the old name
	choices  *choices         // new choices, nil to keep the old choices
}

func (u *updater) change(ctx context.Context, c change) error {
	if len(c.add) > cpar.MaxRecords-int(u.old.Records) || len(c.add)+len(c.remove)+len(c.keywords)+len(c.name) == 0 && c.choices == nil {
		return fmt.Errorf("%w: %d images for an index of %d records", cpar.ErrInput, len(c.add), u.old.Records)
	}
	if len(c.remove) == u.owner.Records() && len(c.add) == 0 {
		return hint.Add(fmt.Errorf("%w: nothing would be left of the index", cpar.ErrInput), "delete the index instead")
	}
	if err := checkKeywords(c.add); err != nil {
		return err
	}
	before := slices.Clone(u.keywords)
	for record, words := range c.keywords {
		if err := checkKeywords([]Photo{{Keywords: words}}); err != nil {
			return err
		}
		u.keywords[record] = words
	}
	for _, record := range c.remove {
		u.keywords[record] = nil
	}
	added, err := u.layOut(ctx, c.add)
	if err != nil {
		return err
	}
	sums, err := u.recount(ctx, c, added, before)
	if err != nil {
		return err
	}
	u.done.Added, u.done.Removed = len(c.add), len(c.remove)
	return u.write(ctx, u.identities, func(l *ledger) (err error) {
		l.records, l.rows = l.records+len(c.add), sums
		if c.name != "" {
			l.name = c.name
		}
		if c.choices != nil {
			l.choices = *c.choices
		}
		added := l.dict.New(u.keywords)
		l.added = slices.Concat(l.added, added)
		l.dict, err = l.dict.With(added)
		return err
	}, func(x *index.Index) (*rows.Builder, error) {
		return u.rows.Next(ctx, x, rows.Change{Add: added, Removed: c.remove, Keywords: u.keywords, Last: func() ([]byte, error) {
			vectors := u.segments(cpar.SegmentVectors)
			return u.fetch(vectors[len(vectors)-1])
		}})
	})
}

// layOut converts new photos to rows, in random order, and records the keywords
// and identities of these photos.
func (u *updater) layOut(ctx context.Context, images []Photo) (added *rows.Rows, err error) {
	shuffled := make([]Photo, len(images))
	for i, from := range u.permutation(len(images)) {
		shuffled[i] = images[from]
	}
	v, err := vectors(ctx, u.owner.Profile(), shuffled, u.writer.Progress)
	if err != nil {
		return nil, err
	}
	if added, u.done.Clamped, err = u.rows.RowsOf(v); err != nil {
		return nil, err
	}
	identify := identify(u.key, u.owner.Origin())
	for _, im := range shuffled {
		u.identities = append(u.identities, identify(im.Content))
	}
	u.keywords = append(u.keywords, Keywords(shuffled)...)
	return added, nil
}
