package device

import (
	"fmt"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/user"
)

// OpenFolder opens the index in a folder with a key.
func OpenFolder(key *user.Key, folder string) (*user.Owner, *cpar.Manifest, error) {
	x, err := indexdir.Open(folder)
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	o, err := user.Open(key, x.Manifest(), x.Read)
	if err != nil {
		return nil, nil, hint.Add(err, "pass the key file it was built with")
	}
	return o, x.Manifest(), nil
}

// ToUpdate opens the index in a folder for an update. It refuses a generation
// older than the newest one seen.
func (d *Device) ToUpdate(key *user.Key, folder string) (*user.Owner, *cpar.Manifest, error) {
	o, m, err := OpenFolder(key, folder)
	if err != nil {
		return nil, nil, err
	}
	if err := d.checkFolder(key, o); err != nil {
		return nil, nil, fmt.Errorf("updating index %s: %w", folder, err)
	}
	return o, m, nil
}
