package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/progress"
	"cpar/internal/sanitize"
	"cpar/user"
)

// A ListedIndex is an index at a cloud or remembered by this device. If the key does
// not open the index, scheme, photos and size are the cloud's sanitized claims.
type ListedIndex struct {
	ID         cpar.IndexID `json:"id"`
	Name       string       `json:"name"`
	Scheme     string       `json:"scheme"`
	Photos     int          `json:"photos"`
	Bytes      uint64       `json:"bytes"`
	Generation uint64       `json:"generation,omitempty"`
	// InUse marks the default index.
	InUse bool `json:"in_use"`
	// Opens reports whether the key opens the index.
	Opens bool `json:"opens"`
	// Problem is the reason why the index cannot be used, or "".
	Problem string `json:"problem,omitempty"`

	origin cpar.IndexID
	scheme cpar.Scheme
}

var errForeign = fmt.Errorf("%w: the index was built with another key", cpar.ErrKey)

func isForeign(err error) bool { return errors.Is(err, cpar.ErrKey) }

// List returns the indexes of a cloud. Indexes that the key opens come first.
// For other indexes, Problem is set.
func (d *Device) List(ctx context.Context, cloud Cloud, key *user.Key, tell progress.Func) ([]ListedIndex, error) {
	there, err := cloud.List(ctx)
	if err != nil {
		return nil, err
	}
	return d.listed(ctx, cloud, key, there, tell)
}

func (d *Device) listed(ctx context.Context, cloud Cloud, key *user.Key, there []cparhttp.IndexInfo, tell progress.Func) ([]ListedIndex, error) {
	m, err := d.recall(key)
	if err != nil {
		return nil, err
	}
	known := map[cpar.IndexID]bool{}
	for _, s := range m.Seen {
		known[s.ID] = true
	}
	// Read known indexes first, because a long list may exhaust the bounds on
	// downloads.
	slices.SortFunc(there, func(a, b cparhttp.IndexInfo) int {
		if known[a.ID] != known[b.ID] {
			if known[a.ID] {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID.String(), b.ID.String())
	})
	there = slices.CompactFunc(there, func(a, b cparhttp.IndexInfo) bool { return a.ID == b.ID })
	k, out := d.labelReader(cloud, key, tell), make([]ListedIndex, 0, len(there))
	for i, info := range there {
		out = append(out, k.row(ctx, info, m))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tell.Report("look at indexes", i+1, len(there))
	}
	sortListed(out)
	return out, nil
}

func sortListed(list []ListedIndex) {
	slices.SortFunc(list, func(a, b ListedIndex) int {
		if a.Opens != b.Opens {
			if a.Opens {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID.String(), b.ID.String()))
	})
}

func (k *labelReader) row(ctx context.Context, info cparhttp.IndexInfo, m *memory) ListedIndex {
	r := ListedIndex{ID: info.ID, Scheme: info.Scheme, Photos: int(info.Records), Bytes: info.Bytes}
	if info.Damaged != "" {
		r.Problem = "damaged at the cloud: " + info.Damaged
		return r
	}
	l, manifest, err := k.look(ctx, info.ID)
	switch {
	case isForeign(err):
		r.Problem = "of another key"
		return r
	case err != nil:
		r.Problem = sanitize.Text(err.Error())
		return r
	}
	r.Opens, r.Name, r.Scheme, r.Photos, r.Bytes, r.Generation = true, l.Name(), l.Scheme().String(), l.Records(), manifest.Bytes(), l.Generation()
	r.origin, r.scheme = l.Origin(), l.Scheme()
	r.InUse = m.InUse != nil && *m.InUse == r.origin
	problem := k.key.Check(r.scheme)
	if problem == nil {
		problem = m.follows(l)
	}
	if problem == nil && slices.Contains(m.Deleted, r.origin) {
		problem = deletedIndex()
	}
	if problem != nil {
		r.Problem, r.InUse = sanitize.Text(problem.Error()), false
	}
	return r
}

func (d *Device) recall(key *user.Key) (*memory, error) {
	var copied memory
	err := d.withMemory(key.Fingerprint(), func(m *memory) error {
		copied = *m
		return nil
	})
	return &copied, err
}

// Known returns a key's indexes that this device has seen.
func (d *Device) Known(key *user.Key) ([]ListedIndex, error) {
	m, err := d.recall(key)
	if err != nil {
		return nil, err
	}
	kept, err := d.labels(key)
	if err != nil {
		return nil, err
	}
	out := []ListedIndex{}
	for _, s := range m.Seen {
		if slices.Contains(m.Deleted, s.Origin) {
			continue
		}
		r := ListedIndex{ID: s.ID, Generation: s.Generation, Opens: true, origin: s.Origin, InUse: m.InUse != nil && *m.InUse == s.Origin}
		if l, ok := kept.get(s.Origin); ok {
			r.Name, r.Scheme, r.Photos, r.Bytes, r.scheme = l.Name, l.Scheme.String(), l.Photos, l.Bytes, l.Scheme
		}
		out = append(out, r)
	}
	sortListed(out)
	return out, nil
}

// Find returns the index at a cloud with the given name. Only the key can read
// names. It ignores the ids in `except`. It returns ErrInput unless exactly
// one index matches.
func (d *Device) Find(ctx context.Context, cloud Cloud, key *user.Key, name string, tell progress.Func, except ...cpar.IndexID) (ListedIndex, error) {
	if err := user.CheckName(name); err != nil {
		return ListedIndex{}, err
	}
	list, err := d.List(ctx, cloud, key, tell)
	if err != nil {
		return ListedIndex{}, err
	}
	list = slices.DeleteFunc(list, func(x ListedIndex) bool { return slices.Contains(except, x.ID) })
	x, ok, err := Named(cloud.URL(), list, cpar.IndexID{}, name)
	if err == nil && !ok {
		err = NoSuchIndex(cloud.URL(), name, list)
	}
	return x, err
}

// Named returns the index in `list` with the given id or, if the id is zero,
// with the given name. It returns false if no index matches, and ErrInput if
// several match.
func Named(url string, list []ListedIndex, id cpar.IndexID, name string) (x ListedIndex, ok bool, err error) {
	var found []ListedIndex
	for _, x := range list {
		if x.ID == id || id == (cpar.IndexID{}) && x.Opens && x.Name == name {
			found = append(found, x)
		}
	}
	switch len(found) {
	case 0:
		return x, false, nil
	case 1:
		return found[0], true, nil
	}
	ids := make([]string, len(found))
	for i, x := range found {
		ids[i] = fmt.Sprintf("%v (%s, %d photos, generation %d)", x.ID, x.Scheme, x.Photos, x.Generation)
	}
	return x, false, hint.Add(fmt.Errorf("%w: %d indexes at %s are called %s: %s", cpar.ErrInput, len(found), url, sanitize.Text(name), strings.Join(ids, ", ")),
		"name one by its id")
}

// NoSuchIndex returns the error for a name or id without an index at a cloud.
// Its hint lists the available indexes.
func NoSuchIndex(url, name string, list []ListedIndex) error {
	var there []string
	unread := 0
	for _, x := range list {
		switch {
		case !x.Opens:
			unread++
		case x.Name == "":
			there = append(there, x.ID.String())
		default:
			there = append(there, sanitize.Text(x.Name))
		}
	}
	err := fmt.Errorf("%w: the cloud at %s has no index %s", cpar.ErrInput, url, sanitize.Text(name))
	if unread > 0 {
		err = fmt.Errorf("%w that your key opens; others there: %d", err, unread)
	}
	if len(there) == 0 {
		return hint.Add(err, "cpar list shows the indexes")
	}
	return hint.Add(err, "there are: %s", strings.Join(slices.Compact(there), ", "))
}

type Deleter interface {
	Delete(ctx context.Context, id cpar.IndexID) error
}

// Delete deletes an index at the cloud and its cached segments here. The index
// is no longer the default, and this device rejects it if the cloud offers it
// again. Delete returns no error if the index is already gone.
func (d *Device) Delete(ctx context.Context, cloud Deleter, key *user.Key, x ListedIndex) (wasInUse bool, err error) {
	if err := cloud.Delete(ctx, x.ID); err != nil && !errors.Is(err, cparhttp.ErrNotFound) {
		return false, err
	}
	d.forget(x.ID)
	err = d.withMemory(key.Fingerprint(), func(m *memory) error {
		for _, s := range m.Seen {
			// After compaction, the index has the same origin and another id.
			if s.ID != x.ID && (s.Origin != x.origin || x.Problem != "") {
				continue
			}
			if m.InUse != nil && *m.InUse == s.Origin {
				m.InUse, wasInUse = nil, true
			}
			if !slices.Contains(m.Deleted, s.Origin) {
				m.Deleted = append(m.Deleted, s.Origin)
			}
		}
		return nil
	})
	return wasInUse, err
}
