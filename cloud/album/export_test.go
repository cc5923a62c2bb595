package album

import "time"

// Test hooks.
const SnapshotEvery = snapshotEvery

func init() { fresh, pageSize = 0, 50 }

// SetNow replaces the clock of a store.
func (s *Store) SetNow(now func() time.Time) { s.now = now }
