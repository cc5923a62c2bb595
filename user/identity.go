package user

import (
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/user/internal/box"
	"cpar/user/internal/index"
	"cpar/user/internal/seed"
)

// An identity tells which photo a record is of: a digest of the picture's content under
// a secret of the index, so that what an index holds can be held against a folder without
// features. It is zero where the content was not known.
type identity [cpar.IdentityBytes]byte

// identify is the identity of a content in all states of an index, also after Compact.
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

// identityChunk is how many identities one segment holds at most.
const identityChunk = 1 << 24

// writeIdentities writes the identities of records from first on, encrypted, as segments
// of their own: those of records that were there before are not written again.
func writeIdentities(x *index.Index, w *index.Writer, first int, list []identity) error {
	for len(list) > 0 {
		n := min(len(list), identityChunk)
		plain := make([]byte, 0, n*cpar.IdentityBytes)
		for _, id := range list[:n] {
			plain = append(plain, id[:]...)
		}
		d := index.NewDigest()
		index.Add(d, []int64{int64(first)}) // one nonce must not serve two bindings
		index.Add(d, plain)
		nonce := seed.New(x.Fresh("identities", d.Sum()))
		if err := w.Bytes(cpar.SegmentIdentities, box.New(x.Secret("identities")).Seal(nil, nonce, plain, identityBinding(x.ID, first))); err != nil {
			return err
		}
		first, list = first+n, list[n:]
	}
	return nil
}

// readIdentities decrypts the identities of all records.
func readIdentities(x *index.Index, m *cpar.Manifest, read Fetch) ([]identity, error) {
	out := make([]identity, 0, x.Records)
	b := box.New(x.Secret("identities"))
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
