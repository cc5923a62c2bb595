package main

import (
	"fmt"
	"io"

	"cpar/internal/hint"
	"cpar/user/device"
)

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
}

// openFolder opens an index folder with a key.
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
		Records: o.Records(), Words: len(o.Keywords()), Generation: o.Generation()}
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
	fmt.Fprintf(w, "  %s with keywords out of %s", photosOf(r.Records), counted(r.Words, "word"))
	if r.Generation > 0 {
		fmt.Fprintf(w, ", generation %d", r.Generation)
	}
	fmt.Fprintln(w)
}
