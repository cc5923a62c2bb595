package user

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/wire"
	"cpar/user/internal/box"
	"cpar/user/internal/index"
	"cpar/user/internal/seed"
	"cpar/user/profile"
)

// The segment of the profile is written once for an index id, since nothing in it
// changes when photos come and go. The ledger of every state vouches for it by its digest.
const (
	profileKind = 'F'
	// profileVersion is the version of the encoding that docs/FORMAT.md draws.
	profileVersion = 1
)

// appendProfile appends the canonical encoding of the profile of index id.
func appendProfile(b []byte, id cpar.IndexID, p profile.Profile) ([]byte, error) {
	b = append(b, ledgerMagic...)
	b = append(b, profileKind, 0)
	b = binary.LittleEndian.AppendUint16(b, profileVersion)
	b, err := profile.Append(append(b, id[:]...), p)
	if err != nil {
		return nil, fmt.Errorf("writing profile: %w", err)
	}
	return b, nil
}

// readProfile is the inverse of appendProfile.
func readProfile(b []byte, id cpar.IndexID) (profile.Profile, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	magic, kind, zero, version := r.Bytes(4, "magic"), r.U8("kind"), r.U8("reserved byte"), r.U16("version")
	switch {
	case string(magic) != ledgerMagic || kind != profileKind || zero != 0:
		r.Fail("this is not a profile")
	case version != profileVersion:
		return nil, hint.Add(fmt.Errorf("reading profile: %w: it has version %d, this program speaks version %d", cpar.ErrVersion, version, profileVersion), rebuild)
	case string(r.Bytes(len(id), "index id")) != string(id[:]):
		r.Fail("it is of another index")
	}
	var p profile.Profile
	err := r.Err()
	if err == nil {
		p, err = profile.Read(r)
	}
	if err == nil {
		err = r.Close()
	}
	if err == nil {
		if err = p.Validate(); err != nil {
			err = fmt.Errorf("%w: %v: %w", cpar.ErrCorrupt, p.Kind(), err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading profile: %w", err)
	}
	return p, nil
}

// encryptProfile encrypts the profile of an index, bound to it.
func encryptProfile(x *index.Index) ([]byte, error) {
	plain, err := appendProfile(nil, x.ID, x.Profile)
	if err != nil {
		return nil, err
	}
	nonce := seed.New(x.Fresh("fitted", sha256.Sum256(plain)))
	return box.New(x.Secret("fitted")).Seal(nil, nonce, plain, fittedBinding(x.ID)), nil
}

func decryptProfile(encrypted []byte, key *Key, id cpar.IndexID) (profile.Profile, error) {
	plain, err := box.New(seed.Derive(key.secret, "fitted", id[:])).Open(encrypted, fittedBinding(id))
	if err != nil {
		return nil, fmt.Errorf("reading profile: %w: %w", cpar.ErrCorrupt, err)
	}
	return readProfile(plain, id)
}

// The name "profile" is the ledger's, which is older.
func fittedBinding(id cpar.IndexID) []byte { return append([]byte("cpar/v1/fitted"), id[:]...) }
