package user

import (
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/seed"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
)

// An identity is a keyed digest of a photo's content, with which the owner
// compares a folder with an index. It is zero if the content is unknown.
type identity [cpar.IdentityBytes]byte

// identify returns a function that maps a content digest to its identity. Identities
// stay the same in all generations of an index, including after Compact.
func identify(key *Key, origin cpar.IndexID) func(content [32]byte) identity {
	secret := seed.Derive(key.secret, "identity", origin[:])
	return func(content [32]byte) (id identity) {
		if content != [32]byte{} {
			digest := secret.Derive("content", content[:])
			copy(id[:], digest[:])
		}
		return id
	}
}

// Locate returns a function that maps a photo's content digest to its records.
// It reads the identities of all records.
func (o *Owner) Locate(key *Key, m *cpar.Manifest, read Fetch) (func(content [32]byte) []uint32, error) {
	if err := o.checkManifest(m); err != nil {
		return nil, fmt.Errorf("locating photos: %w", err)
	}
	all, err := readIdentities(o.index, m, read)
	if err != nil {
		return nil, fmt.Errorf("locating photos: %w", err)
	}
	records, identify := map[identity][]uint32{}, identify(key, o.Origin())
	for record, id := range all {
		if id != (identity{}) {
			records[id] = append(records[id], uint32(record))
		}
	}
	return func(content [32]byte) []uint32 {
		if content == [32]byte{} {
			return nil
		}
		return records[identify(content)]
	}, nil
}

const (
	// identityChunk is the maximum number of identities in a segment.
	identityChunk = 1 << 24
	// All segments except the last, the tail, hold a multiple of identityTail
	// identities. Adding photos rewrites the tail.
	identityTail = 256
)

// writeIdentities encrypts and writes the identities that the segments in the
// manifest do not cover.
func writeIdentities(x *index.Index, w *index.Writer, all []identity) error {
	first, last := 0, 0
	for _, s := range w.Manifest.Segments {
		if s.Kind == cpar.SegmentIdentities {
			last = identitiesIn(s)
			first += last
		}
	}
	if first == len(all) {
		return nil
	}
	if first%identityTail != 0 {
		first -= last
		w.DropLast(cpar.SegmentIdentities)
	}
	full := len(all) - len(all)%identityTail
	for first < len(all) {
		to := min(full, first+identityChunk)
		if first == full {
			to = len(all)
		}
		if err := w.Bytes(cpar.SegmentIdentities, sealIdentities(x, first, all[first:to])); err != nil {
			return err
		}
		first = to
	}
	return nil
}

func identityBytes(records int) uint64 {
	segments := 0
	if records%identityTail > 0 {
		segments++
	}
	segments += (records - records%identityTail + identityChunk - 1) / identityChunk
	return uint64(records*cpar.IdentityBytes + segments*aead.Overhead)
}

func identitiesIn(s cpar.Segment) int { return (int(s.Bytes) - aead.Overhead) / cpar.IdentityBytes }

func sealIdentities(x *index.Index, first int, list []identity) []byte {
	plain := make([]byte, 0, len(list)*cpar.IdentityBytes)
	for _, id := range list {
		plain = append(plain, id[:]...)
	}
	d := index.NewDigest()
	index.Add(d, []int64{int64(first)}) // the binding contains `first`, and one nonce must not serve two bindings
	index.Add(d, plain)
	nonce := seed.New(x.Fresh("identities", d.Sum()))
	return aead.New(x.Secret("identities")).Seal(nil, nonce, plain, identityBinding(x.ID, first))
}

func readIdentities(x *index.Index, m *cpar.Manifest, read Fetch) ([]identity, error) {
	out := make([]identity, 0, x.Records)
	b := aead.New(x.Secret("identities"))
	for _, s := range m.Segments {
		if s.Kind != cpar.SegmentIdentities {
			continue
		}
		encrypted, err := read(s)
		if err != nil {
			return nil, err
		}
		plain, err := b.Open(encrypted, identityBinding(x.ID, len(out)))
		if err != nil {
			return nil, fmt.Errorf("decrypting identities from record %d: %w: %w", len(out), cpar.ErrCorrupt, err)
		}
		for ; len(plain) >= cpar.IdentityBytes; plain = plain[cpar.IdentityBytes:] {
			out = append(out, identity(plain))
		}
	}
	if len(out) != x.Records {
		return nil, fmt.Errorf("%w: %d identities of %d records", cpar.ErrCorrupt, len(out), x.Records)
	}
	return out, nil
}

func identityBinding(id cpar.IndexID, first int) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte("cpar/v1/identities"), id[:]...), uint32(first))
}
