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

// A label describes an index. The name is private, so labels are encrypted.
type label struct {
	Name   string      `json:"name"`
	Scheme cpar.Scheme `json:"scheme"`
	Photos int         `json:"photos"`
	Bytes  uint64      `json:"bytes"`
	// Folder is the folder in which this device made the index, or "".
	Folder string `json:"folder,omitempty"`
}

type labels struct{ store *localstore.Store }

const labelKind = "label"

func (d *Device) labels(key *user.Key) (labels, error) {
	v, err := key.LocalStore(filepath.Join(d.State, "indexes", key.Fingerprint()), 0)
	return labels{v}, err
}

func (l labels) get(origin cpar.IndexID) (x label, ok bool) {
	b, ok := l.store.Get(labelKind, origin[:])
	return x, ok && json.Unmarshal(b, &x) == nil
}

// keepLabel stores the label of an index. If `folder` is "", it keeps the
// known folder.
func (d *Device) keepLabel(key *user.Key, o user.Label, m *cpar.Manifest, folder string) error {
	now := label{Name: o.Name(), Scheme: o.Scheme(), Photos: o.Records(), Bytes: m.Bytes(), Folder: folder}
	l, err := d.labels(key)
	if err != nil {
		return err
	}
	before, known := l.get(o.Origin())
	if folder == "" {
		now.Folder = before.Folder
	}
	if known && before == now {
		return nil
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	origin := o.Origin()
	return l.store.Put(labelKind, origin[:], b)
}

// maxLookedAt and maxLabelBytes bound the downloads for reading the names of a
// cloud's indexes, because the key has not yet authenticated them.
const (
	maxLookedAt   = 256
	maxLabelBytes = 256 << 20
)

// A labelReader fetches ledgers of a cloud's indexes within these bounds.
type labelReader struct {
	*opener
	// foreign, if not nil, remembers ledgers that the key does not open.
	foreign *localstore.Store
	looked  int
	left    uint64 // bytes that may still be fetched
}

func (d *Device) labelReader(cloud Cloud, key *user.Key, tell progress.Func) *labelReader {
	foreign, _ := d.LocalStore(key, DefaultLimit) // without a store, ledgers are fetched again
	return &labelReader{opener: &opener{device: d, cloud: cloud, key: key, opt: OpenOptions{Progress: tell}}, foreign: foreign, left: maxLabelBytes}
}

const foreignKind = "ledger of another key"

func (k *labelReader) look(ctx context.Context, id cpar.IndexID) (l user.Label, m *cpar.Manifest, err error) {
	if k.looked++; k.looked > maxLookedAt {
		return l, nil, fmt.Errorf("%w: skipped, because the cloud lists more than %d indexes", cpar.ErrInput, maxLookedAt)
	}
	if m, err = k.cloud.Manifest(ctx, id); err != nil {
		return l, nil, err
	}
	f := k.fetcher(ctx, id)
	var ledger cpar.Segment
	l, err = user.ReadLabel(k.key, m, func(s cpar.Segment) ([]byte, error) {
		ledger = s
		if k.foreign != nil {
			if _, known := k.foreign.Get(foreignKind, foreignName(id, s)); known {
				return nil, errForeign
			}
		}
		if s.Bytes > k.left {
			return nil, fmt.Errorf("%w: skipped, because the ledgers before it had %d MB", cpar.ErrInput, (maxLabelBytes-k.left)>>20)
		}
		b, err := f.small(s)
		if f.bytes > 0 || err != nil {
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

// foreignName identifies a ledger by its index and its bytes. A cloud that
// once serves a foreign ledger under the id of the owner's index therefore
// cannot hide the index forever.
func foreignName(id cpar.IndexID, s cpar.Segment) []byte { return append(id[:], s.Digest[:]...) }
