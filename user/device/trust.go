package device

import (
	"fmt"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

// checkSeen holds what a cloud offers against what was seen, and remembers it. named says
// that the person named the index, which retires the one that was in use. Nothing
// was sent to the cloud that depends on a photo before.
func (d *Device) checkSeen(key *user.Key, o *user.Owner, named bool) error {
	now := stateOf(o)
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		before, known := m.Seen[now.Origin.String()]
		switch {
		case m.InUse != nil && *m.InUse != now.Origin && !named:
			return hint.Add(fmt.Errorf("%w: it offers another index of this key than the one in use (%v)", cpar.ErrCloud, *m.InUse),
				"if you have built the collection anew, name the index once: --index %v", now.ID)
		case !user.Hides(o.Scheme()) && !named:
			return hint.Add(fmt.Errorf("%w: it offers an index of scheme %v, which shows it distances", cpar.ErrCloud, o.Scheme()),
				"if that is what you want, name it: --index %v", now.ID)
		case known && now.Generation < before.Generation && now.ID != before.ID:
			return hint.Add(fmt.Errorf("%w: another index has taken its place (%v), and the cloud still offers it", cpar.ErrCloud, before.ID),
				"push the index that was compacted")
		case known && now.Generation < before.Generation:
			return hint.Add(fmt.Errorf("%w: it has generation %d, and generation %d was seen before", cpar.ErrCloud, now.Generation, before.Generation),
				"the cloud shows an old state; push the index again")
		case known && now.Generation == before.Generation && now.State != before.State:
			return hint.Add(fmt.Errorf("%w: it is another state of generation %d than was seen before", cpar.ErrCloud, now.Generation),
				"two devices have updated copies of one index, or the cloud shows what it should not: update the right folder once more and push it")
		}
		m.Seen[now.Origin.String()] = now
		if user.Hides(o.Scheme()) { // others must be named each time
			m.InUse = &now.Origin
		}
		return nil
	})
}

// checkFolder refuses an index folder in an older state than one that was seen: a
// copy that was put back. What it would become could not be told from the cloud's
// going back.
func (d *Device) checkFolder(key *user.Key, o *user.Owner) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		if before := m.Seen[o.Origin().String()]; o.Generation() < before.Generation {
			return hint.Add(fmt.Errorf("%w: it is an older state than was pushed before", cpar.ErrInput),
				"update the folder that was pushed last; or build the index again")
		}
		return nil
	})
}
