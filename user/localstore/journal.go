package localstore

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"cpar"
	"cpar/user/internal/aead"
)

// A Journal is an append-only, encrypted list of records of type R, which
// describe the actions of runs. A Log stores it.
//
//	entry of the log: DEFLATE(JSON array of records)
//	                | JSON object, one record, as earlier versions wrote it
//
// A compressed entry never begins with '{', because that byte would mark a
// final block, and package compress/flate marks only the empty block that ends
// a stream as final.
type Journal[R any] struct{ *Log }

func OpenJournal[R any](s *Store, name string) (*Journal[R], error) {
	log, err := s.Log(name)
	return &Journal[R]{log}, err
}

// Append writes all records, or none, as one entry, and syncs the entry to
// disk. It returns the number of bytes by which the journal grows.
func (j *Journal[R]) Append(records ...R) (grows int64, err error) {
	b, err := encode(records)
	if err == nil {
		err = j.Log.Append(b)
	}
	return int64(headSize + aead.Overhead + 4 + len(b)), err
}

// Read passes every record to `take`, oldest first, and returns the number of damaged
// parts that it left out. An intact entry that does not decode to records of type R is
// an error, because skipping the entry would lose records.
func (j *Journal[R]) Read(take func(*R)) (damaged int, err error) {
	for b, err := range j.All() {
		if errors.Is(err, cpar.ErrCorrupt) {
			damaged++
			continue
		}
		if err != nil {
			return damaged, err
		}
		records, err := decode[R](b)
		if err != nil {
			return damaged, fmt.Errorf("reading the journal: %w: %w", cpar.ErrCorrupt, err)
		}
		for i := range records {
			take(&records[i])
		}
	}
	return damaged, nil
}

// replaceBatch is the number of records in one entry that Replace writes.
const replaceBatch = 64

func (j *Journal[R]) Replace(records []R) error {
	var entries [][]byte
	for some := range slices.Chunk(records, replaceBatch) {
		b, err := encode(some)
		if err != nil {
			return err
		}
		entries = append(entries, b)
	}
	return j.Log.Replace(entries)
}

func encode[R any](records []R) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err == nil {
		err = json.NewEncoder(w).Encode(records)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

func decode[R any](b []byte) (records []R, err error) {
	if len(b) > 0 && b[0] == '{' {
		records = make([]R, 1)
		return records, json.Unmarshal(b, &records[0])
	}
	plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(b)))
	if err == nil {
		err = json.Unmarshal(plain, &records)
	}
	return records, err
}
