package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"cpar"
	"cpar/model/feature"
	"cpar/user"
	"cpar/user/localstore"
)

// DefaultLimit is the size limit of a local store in bytes, enough for the
// features and embeddings of about 150,000 photos.
const DefaultLimit = 4 << 30

const vaultsFolder = "vault"

// LocalStore opens the encrypted store of data that can be recomputed from
// photos. It returns nil if the device has no cache folder.
func (d *Device) LocalStore(key *user.Key, limit int64) (*localstore.Store, error) {
	if d.Cache == "" {
		return nil, nil
	}
	return key.LocalStore(d.cached(vaultsFolder, key.Fingerprint()), limit)
}

const journalsFolder = "library"

// Journals opens the store of a key's journals in the state folder, without a
// limit, and returns its folder.
func (d *Device) Journals(key *user.Key) (store *localstore.Store, dir string, err error) {
	dir = filepath.Join(d.State, journalsFolder, key.Fingerprint())
	store, err = key.LocalStore(dir, 0)
	return store, dir, err
}

func (d *Device) HasJournals() bool {
	_, err := os.Stat(filepath.Join(d.State, journalsFolder))
	return err == nil
}

func (d *Device) Features(key *user.Key, limit int64) (*feature.Cache, error) {
	v, err := d.LocalStore(key, limit)
	if v == nil || err != nil {
		return nil, err
	}
	return feature.NewCache(v), nil
}

// A Kept describes one kind of data in the cache.
type Kept struct {
	What  string `json:"what"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	dir   string
}

var kept = []struct{ folder, what string }{
	{vaultsFolder, "features of photos and results computed from them (encrypted)"},
	{"held", "segments of indexes (encrypted)"},
	{"ledgers", "ledgers of indexes (encrypted)"},
	{"profiles", "profiles of indexes (encrypted)"},
	{"features", "unencrypted features of photos, from cpar demo, cpar-eval and earlier versions"},
}

// Kept lists the known contents of the cache, all of which can be recomputed.
func (d *Device) Kept() ([]Kept, error) {
	out := make([]Kept, 0, len(kept))
	for _, k := range kept {
		one := Kept{What: k.what, dir: d.cached(k.folder)}
		if d.Cache == "" {
			out = append(out, one)
			continue
		}
		var err error
		if one.Files, one.Bytes, err = held(one.dir); err != nil {
			return nil, fmt.Errorf("reading the cache: %w: %w", cpar.ErrStorage, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// held counts the files below a path, which may be missing.
func held(path string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if info, err := e.Info(); err == nil { // otherwise the file has just been removed
			files++
			bytes += info.Size()
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return files, bytes, err
}

// ClearCache removes everything that Kept lists and returns the list. It keeps
// the record of seen generations and the journals.
func (d *Device) ClearCache(dryRun bool) ([]Kept, error) {
	list, err := d.Kept()
	if err != nil || dryRun {
		return list, err
	}
	for _, k := range slices.DeleteFunc(slices.Clone(list), func(k Kept) bool { return k.dir == "" }) {
		if err := os.RemoveAll(k.dir); err != nil {
			return list, fmt.Errorf("clearing the cache: %w: %w", cpar.ErrStorage, err)
		}
	}
	return list, nil
}
