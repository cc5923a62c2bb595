package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
)

// Info describes an index in a data folder.
type Info struct {
	ID      cpar.IndexID
	Scheme  cpar.Scheme
	Records uint32
	Bytes   uint64 // of all segments
	// Err says what is wrong with the manifest; the fields above, except ID, are then 0.
	// Segments are not checked.
	Err error
}

// List describes the active indexes in a data folder, ordered by id. It takes no lock, so
// it can list a folder that is being served.
func List(data string) ([]Info, error) {
	ids, err := indexIDs(data)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, id := range ids {
		m, err := readManifest(filepath.Join(data, indexesName, id.String()), id)
		switch {
		case errors.Is(err, ErrNotFound):
			continue // only uploads so far, or deleted meanwhile
		case err != nil:
			list = append(list, Info{ID: id, Err: err})
		default:
			list = append(list, Info{ID: id, Scheme: m.Scheme, Records: m.Records, Bytes: m.Bytes()})
		}
	}
	return list, nil
}

// List describes the active indexes, ordered by id.
func (s *Store[T]) List() ([]Info, error) {
	list, err := List(s.data)
	if errors.Is(err, cpar.ErrInput) {
		// The folder was valid when it was opened, so the caller made no mistake.
		err = fmt.Errorf("%w: %v", cpar.ErrStorage, err)
	}
	return list, err
}

// Manifest returns the canonical bytes of an index's active manifest.
func (s *Store[T]) Manifest(id cpar.IndexID) ([]byte, error) {
	m, err := readManifest(s.folder(id), id)
	if err != nil {
		return nil, err
	}
	return m.MarshalBinary()
}

func readManifest(folder string, id cpar.IndexID) (*cpar.Manifest, error) {
	b, err := indexdir.ReadManifestBytes(folder)
	if errors.Is(err, indexdir.ErrNoIndex) {
		return nil, notFound(id)
	}
	var m *cpar.Manifest
	if err == nil {
		m, err = cpar.DecodeManifest(b)
	}
	if errors.Is(err, cpar.ErrCorrupt) {
		err = hint.Add(err, "push the index again")
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("index %v: %w", id, err)
	case m.ID != id:
		return nil, fmt.Errorf("index %v: %w: it has the manifest of index %v", id, cpar.ErrCorrupt, m.ID)
	}
	return m, nil
}

// indexIDs lists the folders with the name of an index, in order.
func indexIDs(data string) ([]cpar.IndexID, error) {
	folder := filepath.Join(data, indexesName)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is not a data folder of cpard", cpar.ErrInput, data)
	}
	if err != nil {
		return nil, durable.StorageError("reading folder", folder, 0, err)
	}
	var ids []cpar.IndexID
	for _, e := range entries {
		if id, err := cpar.ParseIndexID(e.Name()); err == nil && e.IsDir() {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
