package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/tune"
)

// built is the JSON output of build.
type built struct {
	Index   string `json:"index,omitempty"`
	ID      string `json:"id,omitempty"`
	Name    string `json:"name"`
	Scheme  string `json:"scheme"`
	Profile string `json:"profile"`
	Ranker  string `json:"ranker"`
	// Dimensions is the length of a vector. Neighbours is the ranker's number
	// of neighbours.
	Dimensions int    `json:"dimensions,omitempty"`
	Neighbours int    `json:"neighbours,omitempty"`
	Network    string `json:"network,omitempty"`
	// Encoder describes the embedding taken from the network.
	Encoder *usedNetwork `json:"encoder,omitempty"`
	// Validation is the result of cross-validation. Tuning is the reason for
	// the choice of profile "auto".
	Validation *rank.Validation `json:"validation,omitempty"`
	Tuning     *tune.Tuning     `json:"tuning,omitempty"`

	// Format is the detected format of the collection.
	Format   dataset.Format `json:"format"`
	Images   int            `json:"images"`
	Keywords int            `json:"keywords"`
	Bytes    uint64         `json:"bytes,omitempty"`
	Fields   uint32         `json:"split_fields,omitempty"`
	Clamped  int            `json:"clamped"`
	Choice   *tune.Choice   `json:"choice,omitempty"`
	// Photos counts every photo found: used, or left out for one reason.
	Photos counts `json:"photos"`
	// Duplicates are photos with the content of another photo. That photo also
	// gets their keywords.
	Duplicates []user.NamedDuplicate `json:"duplicates"`
	Skipped    []user.Skipped        `json:"skipped"`
	Warnings   []dataset.Warning     `json:"warnings"`
	peopleLeftOut
	DryRun bool `json:"dry_run"`

	// protects describes the protection of the scheme.
	protects string
}

// comparedBy describes profiles to people.
var comparedBy = map[string]string{
	profile.Paper.String():   "colours and textures",
	profile.Learned.String(): "colours, textures and your keywords",
	profile.Network.String(): "an image network and your keywords",
	profile.Clip.String():    "an image network with a text half",
}

func (r *built) print(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	printSkipped(cmd, r.Skipped)
	printDuplicates(cmd, r.Duplicates)
	switch r.Format {
	case dataset.Manifest, dataset.Embedded: // collections made by the owner
	default:
		fmt.Fprintf(out, "read as %s\n", r.Format)
	}
	if r.DryRun {
		fmt.Fprintf(out, "would encrypt %s with %s, %d left out; nothing was written\n", photosOf(r.Images), counted(r.Keywords, "keyword"), r.Photos.listed)
		return
	}
	fmt.Fprintf(out, "encrypted %s with %s into %s (%s), %d left out\n", photosOf(r.Images), counted(r.Keywords, "keyword"), r.Index, size(r.Bytes), r.Photos.listed)
	fmt.Fprintf(out, "index %s", r.ID)
	if r.Name != "" {
		fmt.Fprintf(out, ", called %s", r.Name)
	}
	fmt.Fprintln(out)
	fmt.Fprintf(out, "photos are compared by %s\n", comparedBy[r.Profile])
	if verbose(cmd) {
		fmt.Fprintf(out, "profile %s, ranker %s, %d dimensions\n", r.Profile, r.Ranker, r.Dimensions)
	}
	if r.Tuning != nil {
		fmt.Fprintf(out, "profile %s, ranker %s: %s\n", r.Profile, r.Ranker, r.Tuning.Reason)
	}
	if v := r.Validation; v != nil {
		fmt.Fprintf(out, "tried on your own photos, with %d keywords each: of the %.0f words that the photos of one test have, it finds %.0f at least once. Averaged over these words, %.0f %% of its keywords are right, and it finds %.0f %% of yours\n", v.Keywords, v.Words, v.Nplus, v.P, v.R)
		if r.Ranker == rank.KindCalibrated.String() {
			fmt.Fprintln(out, "cpar annotate leaves out the unlikely ones, so that about two in three of its keywords are right (--right)")
		}
	}
	if c := r.Choice; c != nil {
		fmt.Fprintf(out, "scheme %s", c.Scheme)
		if c.Search != "" {
			fmt.Fprintf(out, ", search %s", c.Search)
		}
		fmt.Fprintf(out, ": %s\n", c.Reason)
	}
	fmt.Fprintln(cmd.ErrOrStderr(), r.protects)
}
