package device

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/sanitize"
	"cpar/user"
	"cpar/user/vocabulary"
)

// MadeAny reports whether this device has ever made an index, under any key.
func (d *Device) MadeAny() bool {
	all, _ := filepath.Glob(filepath.Join(d.State, "made", "*"))
	return len(all) > 0
}

// Folder returns the folder of an index that this device made. It finds the
// index by id or, if the id is zero, by name. It returns ErrInput unless
// exactly one index matches.
func (d *Device) Folder(key *user.Key, id cpar.IndexID, name string) (string, error) {
	made, err := d.folders(key)
	if err != nil {
		return "", err
	}
	what := name
	if name == "" {
		what = id.String()
	}
	var found []string
	for folder, l := range made {
		if name != "" && l.Name() == name || name == "" && l.ID() == id {
			found = append(found, folder)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", hint.Add(fmt.Errorf("looking for the folder of index %s: %w: this device has made no index of that name, or the folder of that index has moved", sanitize.Text(what), cpar.ErrInput),
			"name the folder that cpar build --out made")
	}
	return "", hint.Add(fmt.Errorf("looking for the folder of index %s: %w: there are %d: %s", sanitize.Text(what), cpar.ErrInput, len(found), sanitize.Text(strings.Join(found, ", "))),
		"name one of the folders")
}

// Folders returns the folders of the indexes that this device made with a key.
func (d *Device) Folders(key *user.Key) ([]string, error) {
	made, err := d.folders(key)
	return slices.Sorted(maps.Keys(made)), err
}

// Vocabularies returns the vocabularies, by folder, of the indexes that this
// device made with a key and that have one.
func (d *Device) Vocabularies(key *user.Key) (map[string]*vocabulary.Vocabulary, error) {
	made, err := d.folders(key)
	all := map[string]*vocabulary.Vocabulary{}
	for folder, l := range made {
		if v := l.Vocabulary(); !v.Empty() {
			all[folder] = v
		}
	}
	return all, err
}

// folders returns the labels, by folder, of the indexes that this device made
// with a key. It leaves out an index whose folder has moved.
func (d *Device) folders(key *user.Key) (map[string]user.Label, error) {
	kept, err := d.labels(key)
	if err != nil {
		return nil, err
	}
	made := map[string]user.Label{}
	for _, origin := range d.origins(key) {
		l, ok := kept.get(origin)
		if !ok || l.Folder == "" {
			continue
		}
		if now, err := labelOf(key, l.Folder); err == nil && now.Origin() == origin {
			made[l.Folder] = now
		}
	}
	return made, nil
}

// labelOf reads the label of the index in a folder. The index may have changed
// since the folder was remembered.
func labelOf(key *user.Key, folder string) (user.Label, error) {
	m, err := indexdir.ReadManifest(folder)
	if err != nil {
		return user.Label{}, err
	}
	return user.ReadLabel(key, m, func(s cpar.Segment) ([]byte, error) { return indexdir.ReadSegment(folder, s) })
}

// origins lists the origins (first ids) of the indexes that this device made
// with a key.
func (d *Device) origins(key *user.Key) (list []cpar.IndexID) {
	files, _ := filepath.Glob(filepath.Join(d.State, "made", "*"))
	for _, file := range files {
		m := made{}
		b, err := readSmall(file)
		if err != nil || json.Unmarshal(b, &m) != nil || m.Key != key.Fingerprint() {
			continue // a lock, a damaged file, or the file of another key
		}
		if !slices.Contains(list, m.Origin) {
			list = append(list, m.Origin)
		}
	}
	return list
}
