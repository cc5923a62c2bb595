package album

import (
	"context"
	"fmt"
	"time"

	"cpar"
	"cpar/internal/hint"
)

type Undeletion struct {
	Tenant string `json:"tenant,omitempty"`
	Album  string `json:"album"`
	// Restored is the number of versions that are live again.
	Restored      int   `json:"restored_blobs"`
	RestoredBytes int64 `json:"restored_bytes"`
	// Aside is the number of live versions that were deleted because they were not
	// live at that time. They stay recoverable.
	Aside      int   `json:"set_aside_blobs"`
	AsideBytes int64 `json:"set_aside_bytes"`
	// Back is the time to pass to another Undelete that reverts this one.
	Back time.Time `json:"back"`
}

// Undelete restores the blobs that an album had at time `to`. It purges nothing.
// With `dry`, it only counts.
func (s *Store) Undelete(ctx context.Context, tenant, album string, to time.Time, dry bool) (Undeletion, error) {
	var u Undeletion
	err := s.commit(ctx, tenant, func(st *state) (*event, error) {
		u = Undeletion{Tenant: tenant, Album: album, Back: st.Last}
		if !to.After(st.Purged) {
			err := fmt.Errorf("album %s: %w: blobs that were deleted until %s are purged", album, cpar.ErrInput, st.Purged.Format(time.RFC3339))
			return nil, hint.Add(err, "name a later time, or restore a backup")
		}
		for _, b := range st.Albums[album] {
			now, then := b.live(), b.at(to)
			if now == then {
				continue
			}
			if now != nil {
				u.Aside++
				u.AsideBytes += now.Bytes
			}
			if then != nil {
				u.Restored++
				u.RestoredBytes += then.Bytes
			}
		}
		if dry || u.Restored+u.Aside == 0 {
			return nil, nil
		}
		return &event{Album: album, Undelete: to.UTC()}, nil
	})
	return u, err
}
