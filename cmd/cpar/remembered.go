package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/user"
)

// What this device remembers of the indexes at clouds, so that a cloud cannot take
// it back to what was: small files in the cache folder, which hold numbers and
// digests.
//
//	cpar/generations/ORIGIN    the greatest generation that was seen, and its state
//	cpar/retired/ID            another index has taken the place of this one
//	cpar/schemes/CLOUD-KEY     the scheme that this key used at this cloud
//	cpar/lineage/STATE         the state that was updated to STATE here (lineage.go)

// cacheFile is where something is kept, "" if nowhere.
func cacheFile(kind, name string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cpar", kind, name)
}

// remembered is what a file of the cache says, "" where there is none. One that
// cannot be read is not taken for none: a cloud must not be let off.
func remembered(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading what was seen before: %w: %w", cpar.ErrStorage, err)
	}
	if len(b) == 0 {
		return "", unreadable(path)
	}
	return string(b), nil
}

func unreadable(path string) error {
	return hint.Add(fmt.Errorf("reading what was seen before: %w: %s does not say it", cpar.ErrCorrupt, path),
		"remove the file if you trust the cloud to show the newest state now")
}

// remember writes a file of the cache, whole or not at all.
func remember(path, text string) error {
	if path == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = durable.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		return fmt.Errorf("remembering what was seen: %w: %w", cpar.ErrStorage, err)
	}
	return nil
}

// locked does something to a file of the cache while no other command does.
func locked(path string, work func() error) error {
	if path == "" {
		return work()
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err == nil {
		err = lock.Lock() // held for as long as a small file takes to write
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w: %w", path, cpar.ErrStorage, err)
	}
	defer lock.Close()
	return work()
}

// A sight is a state of an index of scheme sealed or local that was seen at a
// cloud. The generation alone does not name it: two devices that update one copy
// make two states of one generation.
type sight struct {
	generation uint64 // 0 where none was seen
	state      [sha256.Size]byte
}

func (s sight) String() string {
	return fmt.Sprintf("%d %s", s.generation, hex.EncodeToString(s.state[:]))
}

func parseSight(text string) (s sight, ok bool) {
	var state []byte
	if _, err := fmt.Sscanf(text, "%d %x", &s.generation, &state); err != nil || len(state) != len(s.state) {
		return sight{}, false
	}
	copy(s.state[:], state)
	return s, s.generation > 0 && s.String() == text
}

// sightsFile is named by the origin, which a compacted index has in common with
// the one it was made of, and its generation goes on from there: so an older state
// is known for one under whichever id it is offered.
func sightsFile(origin cpar.IndexID) string { return cacheFile("generations", origin.String()) }

// lastSeen is the greatest generation of an index that was seen.
func lastSeen(origin cpar.IndexID) (sight, error) {
	path := sightsFile(origin)
	text, err := remembered(path)
	if err != nil || text == "" {
		return sight{}, err
	}
	s, ok := parseSight(text)
	if !ok {
		return s, unreadable(path)
	}
	return s, nil
}

// twoStates is what is wrong with a state of a generation of which another was seen.
func twoStates(kind error, generation uint64) error {
	return fmt.Errorf("%w: it is another state of generation %d than was seen before", kind, generation)
}

// see refuses a state older than one that was seen before, or another one of the
// same generation, and else remembers it.
func see(origin cpar.IndexID, now sight, older func(seen uint64) error) error {
	if now.generation == 0 {
		return nil // of schemes cpar and capia there is one state
	}
	path := sightsFile(origin)
	return locked(path, func() error {
		seen, err := lastSeen(origin)
		switch {
		case err != nil:
			return err
		case now.generation < seen.generation:
			return older(seen.generation)
		case now == seen:
			return nil
		case now.generation == seen.generation:
			return hint.Add(twoStates(cpar.ErrCloud, now.generation),
				"two devices have updated copies of one index, or the cloud shows what it should not: update the right folder once more and push it, or remove %s to believe the cloud", path)
		}
		return remember(path, now.String())
	})
}

// checkSeen refuses an index at the cloud that has gone back behind what was seen.
func checkSeen(o *user.Owner) error {
	if gone, err := remembered(cacheFile("retired", o.ID().String())); err != nil {
		return err
	} else if gone != "" {
		return hint.Add(fmt.Errorf("opening index %v: %w: another index has taken its place, and the cloud still offers it", o.ID(), cpar.ErrCloud),
			"push the index that was compacted, or remove %s", cacheFile("retired", o.ID().String()))
	}
	if err := see(o.Origin(), sight{o.Generation(), o.State()}, o.CheckGeneration); err != nil {
		return fmt.Errorf("opening index %v: %w", o.ID(), err)
	}
	return nil
}

// retire remembers that an index is not to be believed in any more, and drops what
// is kept of it. Whoever opens its successor would notice too; this device knows
// before.
func retire(id cpar.IndexID) error {
	if err := remember(cacheFile("retired", id.String()), "replaced\n"); err != nil {
		return err
	}
	if path := cacheFile("held", id.String()); path != "" {
		_ = os.RemoveAll(path)
		_ = os.Remove(filepath.Clean(profileCopy(id)))
	}
	return nil
}

// schemesFile names a cloud and a key by digests. A key is known by its file: the
// same key under another passphrase is another.
func schemesFile(cloud string, keyFile []byte) string {
	part := func(what string, b []byte) string {
		sum := sha256.Sum256(append([]byte("cpar/v1/"+what+"\x00"), b...))
		return hex.EncodeToString(sum[:16])
	}
	return cacheFile("schemes", part("cloud", []byte(strings.TrimRight(cloud, "/")))+"-"+part("key file", keyFile))
}

// hides is whether the cloud reads no distance under a scheme.
func hides(s cpar.Scheme) bool { return s == cpar.SchemeSealed || s == cpar.SchemeLocal }

// checkScheme refuses an index whose requests show the cloud more than those that
// this key made there before: a cloud that lists an old index only would get them
// from an owner who trusts the listing. named is whether the owner asked for it.
// What was used is remembered, the stronger of the two.
func checkScheme(path string, scheme cpar.Scheme, named bool) error {
	return locked(path, func() error {
		text, err := remembered(path)
		if err != nil {
			return err
		}
		if text == "" {
			return remember(path, scheme.String())
		}
		before, err := cpar.ParseScheme(text)
		switch {
		case err != nil:
			return unreadable(path)
		case hides(before) && !hides(scheme) && !named:
			return hint.Add(fmt.Errorf("choosing the index: %w: it offers one of scheme %v, which shows it distances, and scheme %v was used there before", cpar.ErrCloud, scheme, before),
				"name the index with --index, or pass --scheme %v, if that is what you want; or remove %s", scheme, path)
		case before == scheme || hides(before) && !hides(scheme):
			return nil
		}
		return remember(path, scheme.String())
	})
}
