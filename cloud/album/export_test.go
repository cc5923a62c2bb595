package album

import (
	"context"
	"time"
)

const SnapshotEvery = snapshotEvery

func init() { fresh, pageSize = 0, 50 }

// SetNow replaces the clock of a store.
func (s *Store) SetNow(now func() time.Time) { s.now = now }

// LogBytes returns the bytes that a tenant's log takes according to its state.
func (s *Store) LogBytes(ctx context.Context, tenant string) (n int64, err error) {
	err = s.read(ctx, tenant, func(st *state) error {
		n = st.Log
		return nil
	})
	return n, err
}
