package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"cpar"
	"cpar/internal/progress"
	"cpar/user"
	"cpar/user/localstore"
)

// A label is what this device remembers of an index beside its state, encrypted under the
// key: an index's name is nobody else's business.
type label struct {
	Name   string      `json:"name"`
	Scheme cpar.Scheme `json:"scheme"`
	Photos int         `json:"photos"`
	Bytes  uint64      `json:"bytes"`
}

// labels are those of one key, by origin.
type labels struct{ vault *localstore.Store }

const labelKind = "label"

func (d *Device) labels(key *user.Key) (labels, error) {
	v, err := key.LocalStore(filepath.Join(d.State, "indexes", key.Fingerprint()), 0)
	return labels{v}, err
}

func (l labels) get(origin cpar.IndexID) (x label, ok bool) {
	b, ok := l.vault.Get(labelKind, origin[:])
	return x, ok && json.Unmarshal(b, &x) == nil
}

// keepLabel remembers what an index is called, once the person has made it, or opened it.
func (d *Device) keepLabel(key *user.Key, o *user.Owner, m *cpar.Manifest) error {
	now := label{Name: o.Name(), Scheme: o.Scheme(), Photos: o.Records(), Bytes: m.Bytes()}
	l, err := d.labels(key)
	if err != nil {
		return err
	}
	if before, ok := l.get(o.Origin()); ok && before == now {
		return nil
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	origin := o.Origin()
	return l.vault.Put(labelKind, origin[:], b)
}

// maxLookedAt and maxLabelBytes bound what is fetched of a cloud's indexes to find out what
// they are called, before the key has shown whose they are.
const (
	maxLookedAt   = 256
	maxLabelBytes = 256 << 20
)

// looking fetches the ledgers of a cloud's indexes, within bounds.
type looking struct {
	*opener
	// foreign remembers ledgers that the key does not open, which need not be fetched again;
	// nil where nothing is remembered.
	foreign *localstore.Store
	looked  int
	left    uint64 // bytes that may still be fetched
}

func (d *Device) looking(cloud Cloud, key *user.Key, tell progress.Func) *looking {
	foreign, _ := d.LocalStore(key, DefaultLimit) // it costs fetching again, nothing else
	return &looking{opener: &opener{device: d, cloud: cloud, key: key, opt: OpenOptions{Progress: tell}}, foreign: foreign, left: maxLabelBytes}
}

const foreignKind = "ledger of another key"

// look reads the label of one index.
func (k *looking) look(ctx context.Context, id cpar.IndexID) (*user.Label, *cpar.Manifest, error) {
	if k.looked++; k.looked > maxLookedAt {
		return nil, nil, fmt.Errorf("%w: not looked at, since the cloud lists more than %d indexes", cpar.ErrInput, maxLookedAt)
	}
	m, err := k.cloud.Manifest(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	f := &fetching{opener: k.opener, ctx: ctx, id: id}
	var ledger cpar.Segment
	l, err := user.ReadLabel(k.key, m, func(s cpar.Segment) ([]byte, error) {
		ledger = s
		if k.foreign != nil {
			if _, known := k.foreign.Get(foreignKind, foreignName(id, s)); known {
				return nil, errForeign
			}
		}
		if s.Bytes > k.left {
			return nil, fmt.Errorf("%w: not looked at, since the ledgers before it had %d MB", cpar.ErrInput, (maxLabelBytes-k.left)>>20)
		}
		b, err := f.fetch(s)
		if len(f.fresh) > 0 || err != nil {
			k.left -= s.Bytes
		}
		return b, err
	})
	switch {
	case err == nil:
		f.keep()
	case isForeign(err) && k.foreign != nil && !errors.Is(err, errForeign):
		_ = k.foreign.Put(foreignKind, foreignName(id, ledger), nil)
	}
	return l, m, err
}

// foreignName names a ledger by its bytes, and by the index that these are bound to: a cloud
// that once shows another's in place of ours does not hide ours for good.
func foreignName(id cpar.IndexID, s cpar.Segment) []byte { return append(id[:], s.Digest[:]...) }
