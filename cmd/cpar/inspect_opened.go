package main

import (
	"fmt"
	"io"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/user"
)

// opened is what only the key shows of an index.
type opened struct {
	Profile    string `json:"profile"`
	Dimensions int    `json:"dimensions"`
	Ranker     string `json:"ranker"`
	Neighbours int    `json:"neighbours"`
	// Network is user.Network.Digest; empty where none is needed.
	Network string `json:"network,omitempty"`
	Records int    `json:"records"`
	Words   int    `json:"words"`
	// Generation counts the updates of schemes sealed and local; 0 for the others.
	Generation uint64 `json:"generation,omitempty"`
}

// openFolder opens an index folder with a key.
func openFolder(path, kind string, keys *keyFlags) (*opened, error) {
	if kind != "index" {
		return nil, hint.Add(usageOf("--key is for the folder of an index; this is a "+kind), "leave --key out")
	}
	key, err := keys.read()
	if err != nil {
		return nil, err
	}
	x, err := indexdir.Open(path)
	if err != nil {
		return nil, err
	}
	defer x.Release()
	o, err := user.Open(key, x.Manifest(), x.Segment(cpar.SegmentLedger))
	if err != nil {
		return nil, hint.Add(err, "pass the key file it was built with")
	}
	r := &opened{Profile: o.Profile().String(), Dimensions: o.Dimensions(), Ranker: o.Ranker().String(), Neighbours: o.Neighbours(),
		Records: o.Records(), Words: len(o.Words()), Generation: o.Generation()}
	if digest, ok := o.NetworkDigest(); ok {
		r.Network = fmt.Sprintf("%x", digest)
	}
	return r, nil
}

func (r *opened) print(w io.Writer) {
	fmt.Fprintf(w, "\nwhat only your key shows\n")
	fmt.Fprintf(w, "  profile %s, %d dimensions\n", r.Profile, r.Dimensions)
	fmt.Fprintf(w, "  ranker %s, which wants %d neighbours\n", r.Ranker, r.Neighbours)
	if r.Network != "" {
		fmt.Fprintf(w, "  image network %s (the model file with its preprocessing)\n", r.Network)
	}
	fmt.Fprintf(w, "  %s with keywords out of %d words", photosOf(r.Records), r.Words)
	if r.Generation > 0 {
		fmt.Fprintf(w, ", generation %d", r.Generation)
	}
	fmt.Fprintln(w)
}
