package album

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cpar"
)

// objectForm matches an object's name, made of album, blob, digest and key.
var objectForm = regexp.MustCompile(`^([0-9a-f]{32})/(.+)\.([0-9a-f]{64})\.([0-9]{20}-[0-9a-z]+)$`)

// Rebuild repairs a damaged log with a state computed from the names of the
// objects. The newest object of each blob becomes live, even if the blob was
// deleted, because only the log recorded the deletion.
func (s *Store) Rebuild(ctx context.Context, tenant string) (Usage, error) {
	l := s.log(tenant)
	l.turn.Lock()
	defer l.turn.Unlock()
	_, last, err := l.entries(ctx)
	if err != nil {
		return Usage{}, err
	}
	// Put the state at a multiple of snapshotEvery, because load begins there. Fill
	// the numbers before it with empty entries, because running processes read
	// entry by entry.
	for n := last + 1; ; n++ {
		e := &event{At: s.now().UTC()}
		if n%snapshotEvery == 0 {
			if e.Restore, err = s.rebuiltState(ctx, tenant, e.At); err != nil {
				return Usage{}, err
			}
		}
		err := l.write(ctx, n, &entry{Version: entryVersion, Event: e, Writer: s.writer})
		switch {
		case errors.Is(err, ErrTaken): // by another process, so try the next number
		case err != nil:
			return Usage{}, err
		case e.Restore != nil:
			l.drop()
			return e.Restore.usage(), nil
		}
	}
}

func (s *Store) rebuiltState(ctx context.Context, tenant string, now time.Time) (*state, error) {
	st := newState()
	for o, err := range s.objects.List(ctx, tenant, "") {
		if err != nil {
			return nil, fmt.Errorf("listing blobs: %w", err)
		}
		if m := objectForm.FindStringSubmatch(o.Name); m != nil {
			sum, _ := cpar.ParseDigest(m[3]) // cannot fail after the match
			b := st.insert(m[1], m[2])
			b.Versions = append(b.Versions, &version{SHA256: sum, Bytes: o.Bytes, Put: o.Modified.UTC(), Key: m[4], Live: []span{{From: now}}})
			slices.SortFunc(b.Versions, func(a, b *version) int { return strings.Compare(a.Key, b.Key) })
		}
	}
	st.all(func(_ string, b *blob, v *version) {
		if v != b.Versions[len(b.Versions)-1] {
			v.end(now)
		}
	})
	return st, nil
}
