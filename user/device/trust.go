package device

import (
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/user"
)

// checkSeen compares the generation that a cloud offers with the generations
// seen, and records the offered generation. An index that the user named
// becomes the default. Hints never contain an id that the cloud chose.
func (d *Device) checkSeen(key *user.Key, o *user.Owner, named bool) error {
	now, hides := generationOf(o.Label), user.Hides(o.Scheme())
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		switch {
		case !hides && !named:
			return weakIndex()
		case m.InUse != nil && *m.InUse != now.Origin && !named:
			return otherIndex(*m.InUse)
		case slices.Contains(m.Deleted, now.Origin) && !named:
			return deletedIndex()
		}
		if err := m.follows(o.Label); err != nil {
			return err
		}
		m.see(now)
		if hides { // an index that shows distances never becomes the default
			m.InUse = &now.Origin
		}
		return nil
	})
}

// whereIDs tells users where to find ids that the cloud cannot have chosen.
const whereIDs = "cpar build and cpar push print the id"

func weakIndex() error {
	return hint.Add(fmt.Errorf("%w: it offers an index of a scheme that shows it the distances", cpar.ErrCloud),
		"if you built it and know what it shows (SECURITY.md), name it each time with --index; %s", whereIDs)
}

func otherIndex(used cpar.IndexID) error {
	return hint.Add(fmt.Errorf("%w: it no longer has the index that this device uses (%v), and offers another one instead", cpar.ErrCloud, used),
		"if you or another device replaced that index, for example after building the collection anew, name the new one once with --index and its folder or id; %s", whereIDs)
}

func deletedIndex() error {
	return hint.Add(fmt.Errorf("%w: it offers an index that was deleted from this device", cpar.ErrCloud),
		"if you have pushed it again elsewhere, name it once with --index and its id; %s", whereIDs)
}

// checkNamed rejects an index found by name if the user may mean another index.
// Otherwise a cloud could choose among indexes of the same name by hiding some.
func (d *Device) checkNamed(key *user.Key, x ListedIndex) error {
	kept, err := d.labels(key)
	if err != nil {
		return err
	}
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		_, seen := m.Seen[x.origin.String()]
		switch {
		case m.InUse != nil && *m.InUse == x.origin:
			return nil
		case slices.Contains(m.Deleted, x.origin):
			return deletedIndex()
		case !seen && !user.Hides(x.scheme):
			return hint.Add(fmt.Errorf("%w: it has an index of a scheme that shows it the distances under the name %s, which this device has not seen", cpar.ErrCloud, sanitize.Text(x.Name)),
				"if you built it and know what it shows (SECURITY.md), name it by its id; %s", whereIDs)
		}
		for _, s := range m.Seen {
			other, known := kept.get(s.Origin)
			inUse := m.InUse != nil && *m.InUse == s.Origin
			if s.Origin == x.origin || slices.Contains(m.Deleted, s.Origin) || known && other.Name != x.Name || !known && !inUse {
				continue
			}
			return hint.Add(fmt.Errorf("%w: the index that it has under the name %s is not the one that this device has seen under it (%v)", cpar.ErrCloud, sanitize.Text(x.Name), s.Origin),
				"if you have built the collection anew, name the new index once by its id; %s", whereIDs)
		}
		return nil
	})
}

// follows returns an error if the generation of l does not descend from
// `before`. The cause is a rollback or a fork.
func (before IndexGeneration) follows(l user.Label) error {
	now := generationOf(l)
	if now.Generation < before.Generation && now.ID != before.ID {
		return hint.Add(fmt.Errorf("%w: another index has taken its place (%v), and the cloud still offers it", cpar.ErrCloud, before.ID),
			"push the index that was compacted")
	}
	return before.precedes(now, l.History(), "the cloud shows an old state; push the index again", forked)
}

// precedes returns an error if `now`, with the given ancestors, does not
// descend from `before`. The hints advise users about a rollback and a fork.
func (before IndexGeneration) precedes(now IndexGeneration, h user.History, rolledBack, forked string) error {
	switch {
	case now.Generation < before.Generation:
		return hint.Add(fmt.Errorf("%w: it has generation %d, and generation %d was seen before", cpar.ErrCloud, now.Generation, before.Generation), "%s", rolledBack)
	case now.Generation == before.Generation && now.Digest != before.Digest:
		return hint.Add(fmt.Errorf("%w: its generation %d is not the one that was seen before", cpar.ErrCloud, now.Generation), "%s", forked)
	case now.Generation > before.Generation && !h.Has(before.Digest, now.Generation-before.Generation):
		return hint.Add(fmt.Errorf("%w: generation %d was not made from the state of generation %d that was seen before", cpar.ErrCloud, now.Generation, before.Generation), "%s", forked)
	}
	return nil
}

const forked = "two devices have updated copies of one index, or the cloud shows a false state. " +
	"If you trust the device that pushed it: cpar card there, and cpar card CARD --force here"

// checkFolder rejects a folder whose generation does not descend from the
// generation seen. An update of such a folder would look like a rollback.
func (d *Device) checkFolder(key *user.Key, o *user.Owner) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		if err := m.follows(o.Label); err != nil {
			return hint.Add(fmt.Errorf("%w: generation %d in it does not follow generation %d, which was seen or pushed before", cpar.ErrInput, o.Generation(), m.newest(o.Origin()).Generation),
				"update the folder that was pushed last; or build the index again")
		}
		return nil
	})
}

// checkPushed rejects a generation that does not descend from the generation seen,
// because a push would undo an update. The check does not rely on the cloud.
func (d *Device) checkPushed(mine made) error {
	if mine.Key == "" { // not made here, so checkReplaced compares it with the cloud's generation
		return nil
	}
	return d.withMemory(mine.Key, func(m *memory) error {
		for _, known := range []map[string]IndexGeneration{m.Seen, m.Cards} {
			before, ok := known[mine.Origin.String()]
			if ok && mine.Digest != before.Digest && !mine.History.Has(before.Digest, mine.Generation-before.Generation) && !slices.Contains(mine.Before, before.Digest) {
				return hint.Add(fmt.Errorf("pushing: %w: generation %d in the folder does not follow the state of generation %d that this device has seen", cpar.ErrCloud, mine.Generation, before.Generation), replacing)
			}
		}
		return nil
	})
}
