package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/leakage"
	"cpar/internal/sanitize"
	"cpar/user/device"
	"cpar/user/vocabulary"
)

type inspected struct {
	Kind   string                `json:"kind"`
	Scheme string                `json:"scheme"`
	Index  string                `json:"index"`
	Seen   []leakage.Observation `json:"seen"`
	Bytes  uint64                `json:"bytes"`
	// Opened holds the parts that only a key reveals, or nil.
	Opened *keyView `json:"opened,omitempty"`
}

func inspectCommand() *cobra.Command {
	var asJSON bool
	var keys keyFlags
	c := &cobra.Command{
		Use:   "inspect INDEX|REQUEST|REPLY",
		Short: "show how the cloud sees an index, a request or a reply",
		Long: `inspect opens an index folder, or a request kept by annotate --save-requests, without a
key, as the cloud does. It describes each part in plain words, with its size and what can
be learnt from it.

With --key it also prints the parts of an index folder that only the key can read: profile,
ranker and the image network.`,
		Example: `  $ cpar inspect family.index
  $ cpar inspect family.index --key family.key
  $ cpar annotate beach.jpg --save-requests sent/ … && cpar inspect sent/request-0001`,
		Args: oneArg("an index folder, or a file with a request or reply"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := inspect(args[0])
			if err != nil {
				return err
			}
			if keys.path != "" {
				if r.Opened, err = openFolder(args[0], r.Kind, &keys); err != nil {
					return err
				}
			}
			return output(cmd, asJSON, r, func() { r.print(cmd.OutOrStdout()) })
		},
	}
	// Ignore a key file named in the environment, because most of this
	// command's output needs no key.
	keys.cmd = c
	c.Flags().StringVar(&keys.path, "key", "", "also print the parts of an index that only this key `file` can read")
	c.Flags().StringVar(&keys.passphraseFile, "passphrase-file", "", "read the passphrase from this `file` instead of the terminal")
	return jsonFlag(c, &asJSON)
}

func inspect(path string) (*inspected, error) {
	shown := sanitize.Text(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("inspecting: %w: %w", cpar.ErrInput, err)
	}
	if info.IsDir() {
		x, err := indexdir.Open(path)
		if err != nil {
			return nil, hint.Add(err, "name the folder that cpar build --out made")
		}
		defer x.Release()
		m := x.Manifest()
		parts, err := leakage.Index(m, x.Segments())
		return newInspected("index", m.Scheme.String(), m.ID, parts), err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("inspecting: %w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("inspecting %s: %w: %w", shown, cpar.ErrInput, err)
	}
	r, err := inspectMessage(b)
	if err != nil {
		return nil, fmt.Errorf("inspecting %s: %w", shown, err)
	}
	return r, nil
}

func inspectMessage(b []byte) (*inspected, error) {
	q, err := cpar.DecodeRequest(b)
	switch {
	case err == nil:
		parts, err := leakage.Request(q, b)
		return newInspected("request", q.Params.Scheme.String(), q.Index, parts), err
	case bytes.HasPrefix(b, []byte("CPARQ")) || bytes.HasPrefix(b, []byte("CPARq")):
		return nil, err
	case bytes.HasPrefix(b, []byte("CPARM")):
		return nil, hint.Add(fmt.Errorf("%w: it is the manifest of an index", cpar.ErrInput), "name the folder that holds it")
	}
	a, err := cpar.DecodeReply(b)
	switch {
	case err == nil:
		scheme := ""
		if s, ok := a.Scheme(); ok {
			scheme = s.String()
		}
		parts, err := leakage.Reply(a, b)
		return newInspected("reply", scheme, a.Index, parts), err
	case bytes.HasPrefix(b, []byte("CPAR")):
		return nil, err
	}
	return nil, hint.Add(fmt.Errorf("%w: it is not an index, request or reply", cpar.ErrCorrupt),
		"pass the folder that build wrote, or a file of annotate --save-requests")
}

func newInspected(kind, scheme string, id cpar.IndexID, parts []leakage.Observation) *inspected {
	r := &inspected{Kind: kind, Scheme: scheme, Index: id.String(), Seen: parts}
	for _, p := range parts {
		r.Bytes += p.Bytes
	}
	return r
}

func (r *inspected) print(w io.Writer) {
	head := r.Kind
	if r.Scheme != "" {
		head += " of scheme " + r.Scheme
	}
	fmt.Fprintf(w, "%s, index %s: %d bytes\n", head, r.Index, r.Bytes)
	for _, s := range r.Seen {
		start := ""
		if strings.TrimSpace(s.Start) != "" {
			start = ", starting " + s.Start
		}
		fmt.Fprintf(w, "\n%s\n  %d bytes%s\n  the cloud learns: %s\n", s.What, s.Bytes, start, s.Learns)
	}
	if r.Opened != nil {
		r.Opened.print(w)
	}
}

// keyView is the part of an index that only a key reveals.
type keyView struct {
	Name       string `json:"name,omitempty"`
	Profile    string `json:"profile"`
	Dimensions int    `json:"dimensions"`
	Ranker     string `json:"ranker"`
	Neighbours int    `json:"neighbours"`
	// Network is the digest of the encoder, empty if none is needed.
	Network    string `json:"network,omitempty"`
	Records    int    `json:"records"`
	Words      int    `json:"words"`
	Generation uint64 `json:"generation,omitempty"`
	// People reports whether names of people are keywords.
	People     bool              `json:"includes_people"`
	Vocabulary vocabulary.Counts `json:"vocabulary"`
}

func openFolder(path, kind string, keys *keyFlags) (*keyView, error) {
	if kind != "index" {
		return nil, hint.Add(usageOf("--key is for the folder of an index; this is a "+kind), "leave --key out")
	}
	key, _, err := keys.read()
	if err != nil {
		return nil, err
	}
	o, _, err := device.OpenFolder(key, path)
	if err != nil {
		return nil, err
	}
	r := &keyView{Name: o.Name(), Profile: o.Profile().Kind().String(), Dimensions: o.Profile().Dimensions(), Ranker: o.Ranker().Kind().String(), Neighbours: o.Ranker().Neighbours(),
		Records: o.Records(), Words: len(o.Keywords()), Generation: o.Generation(), People: o.IncludesPeople(), Vocabulary: o.Vocabulary().Counts()}
	if digest, ok := o.Profile().Network(); ok {
		r.Network = fmt.Sprintf("%x", digest)
	}
	return r, nil
}

func (r *keyView) print(w io.Writer) {
	fmt.Fprintf(w, "\nwhat only your key shows\n")
	if r.Name != "" {
		fmt.Fprintf(w, "  called %s\n", r.Name)
	}
	fmt.Fprintf(w, "  profile %s, %d dimensions\n", r.Profile, r.Dimensions)
	fmt.Fprintf(w, "  ranker %s, which wants %d neighbours\n", r.Ranker, r.Neighbours)
	if r.Network != "" {
		fmt.Fprintf(w, "  image network %s (the model file with its preprocessing)\n", r.Network)
	}
	fmt.Fprintf(w, "  %s and %s", photosOf(r.Records), counted(r.Words, "word"))
	if r.Generation > 0 {
		fmt.Fprintf(w, ", generation %d", r.Generation)
	}
	fmt.Fprintln(w)
	if r.People {
		fmt.Fprintln(w, "  names of people are keywords")
	}
	if r.Vocabulary != (vocabulary.Counts{}) {
		fmt.Fprintf(w, "  vocabulary: %s\n", rulesOf(r.Vocabulary))
	}
}
