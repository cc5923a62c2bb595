package album

import "time"

// Test hooks.
const SnapshotEvery = snapshotEvery

func init() { fresh = 0 }

// SetNow replaces the clock of a store.
func (s *Store) SetNow(now func() time.Time) { s.now = now }

// SetFresh replaces the time for which reads may miss a deletion.
func SetFresh(d time.Duration) (reset func()) {
	old := fresh
	fresh = d
	return func() { fresh = old }
}
