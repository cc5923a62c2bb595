package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/encoder/fetch"
	"cpar/encoder/known"
	"cpar/internal/durable"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/user/device"
)

// knownSets returns the sets of networks. Tests replace it.
var knownSets = known.Sets

func findSet(name string) (known.Set, bool) {
	for _, s := range knownSets() {
		if s.Name == name {
			return s, true
		}
	}
	return known.Set{}, false
}

func setNames() (names []string) {
	for _, s := range knownSets() {
		names = append(names, s.Name)
	}
	return names
}

// setFolder returns the folder for the files of a set. The folder is not in the
// cache, so that clearing the cache does not remove files that take long to
// fetch.
func setFolder(name string) (string, error) {
	this, err := device.This()
	if err != nil {
		return "", err
	}
	return filepath.Join(this.State, "models", name), nil
}

// partOfSet returns the path of a part if `name` is the name of a set, and
// otherwise `name` itself. It fails if the set has not been fetched.
func partOfSet(name, part string) (string, error) {
	s, ok := findSet(name)
	if !ok {
		return name, nil
	}
	f, ok := s.File(part)
	if !ok {
		return "", exitcode.UsageError(fmt.Errorf("%s has no %s half", name, part))
	}
	folder, err := setFolder(name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, f.Name)
	if _, err := os.Stat(path); err != nil {
		return "", hint.Add(fmt.Errorf("%w: %s is not on this device", cpar.ErrInput, name), "cpar model get %s", name)
	}
	return path, nil
}

// fetchedSet is the JSON output of model get for a set.
type fetchedSet struct {
	Name    string     `json:"name"`
	Folder  string     `json:"folder"`
	Licence string     `json:"licence"`
	Files   []*fetched `json:"files"`
	DryRun  bool       `json:"dry_run"`
}

func (f *modelGetFlags) runSet(cmd *cobra.Command, s known.Set) error {
	if f.sha256 != "" || f.out != "" {
		return usageOf("--sha256 and --out are for a single file, and " + s.Name + " has several")
	}
	from, err := fetch.CheckAddress(cmp.Or(f.from, s.Files[0].Address))
	if err != nil {
		return err
	}
	folder, err := setFolder(s.Name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return durable.StorageError("making folder", folder, 0, err)
	}
	all := &fetchedSet{Name: s.Name, Folder: folder, Licence: s.Licence, DryRun: f.dryRun}
	for _, part := range s.Files {
		r := &fetched{Name: part.Part, File: filepath.Join(folder, part.Name), Address: part.Address, SHA256: fmt.Sprintf("%x", part.Digest), Bytes: part.Bytes,
			Licence: s.Licence, DryRun: f.dryRun, digest: part.Digest, known: true}
		if f.from != "" { // --from is then the address of a folder
			r.Address = from.JoinPath(part.Name).String()
		}
		o := fetch.Options{Address: r.Address, Into: r.File, Digest: r.digest, Bytes: r.Bytes, Progress: bar.On(cmd.ErrOrStderr())}
		if o.Text = filepath.Ext(part.Name) != ".onnx"; !o.Text {
			o.Check = readable
		}
		if err := r.get(cmd, o); err != nil {
			return err
		}
		all.Files = append(all.Files, r)
		if !f.asJSON {
			r.print(cmd)
		}
	}
	return output(cmd, f.asJSON, all, func() {
		if !f.dryRun {
			next(cmd, "cpar model check %s", s.Name)
		}
	})
}

// listedPart is a file of a set in cpar model list.
type listedPart struct {
	Part    string `json:"part"`
	File    string `json:"file"`
	Address string `json:"address"`
	SHA256  string `json:"sha256"`
	Bytes   int64  `json:"bytes"`
}

// listedSet describes a set: the fields of its image half, and a list of all
// parts.
func listedSet(s known.Set) listedModel {
	image := s.Files[0]
	m := listed(known.Model{Name: s.Name, File: image.Name, Digest: image.Digest, Bytes: s.Bytes(), Licence: s.Licence, Images: s.Images})
	m.Address, m.Source = image.Address, image.Address
	for _, f := range s.Files {
		m.Parts = append(m.Parts, listedPart{f.Part, f.Name, f.Address, fmt.Sprintf("%x", f.Digest), f.Bytes})
	}
	return m
}

func printSets(out io.Writer, all []listedModel) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tsize\tparts\tpictures\tlicence")
	for _, m := range all {
		var parts []string
		for _, p := range m.Parts {
			parts = append(parts, p.Part)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", sanitize.Text(m.Name), size(uint64(m.Bytes)), strings.Join(parts, ", "), wants(m.Preprocessing), m.Licence)
	}
	w.Flush()
}
