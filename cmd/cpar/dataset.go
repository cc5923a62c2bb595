package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/photo/dataset"
)

func datasetCommand() *cobra.Command {
	return group(&cobra.Command{Use: "dataset", Short: "look at a collection of photos with keywords"}, datasetInspectCommand())
}

func peopleFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "include-people", false, "include names of people, which photo programs keep below a root for faces")
}

// peopleLeftOut is the part of several JSON outputs that lists names of people
// that were left out of the keywords, with their frequencies.
type peopleLeftOut struct {
	People []dataset.Frequency `json:"people_left_out,omitempty"`
}

// surveyed is the JSON output of dataset inspect.
type surveyed struct {
	Folder string `json:"folder"`
	*dataset.Survey
	Skipped  []photo.Skipped   `json:"skipped"`
	Warnings []dataset.Warning `json:"warnings"`
	peopleLeftOut
}

func datasetInspectCommand() *cobra.Command {
	var asJSON bool
	var o dataset.Options
	c := &cobra.Command{
		Use:   "inspect COLLECTION",
		Short: "show the format and contents of a collection",
		Long: `inspect reads a collection as cpar build does and prints its format, the numbers of photos
and keywords, the most frequent keywords, any split into halves, and what was left out. It
decodes no photo, sends and writes nothing, and needs no key.

Formats are tried in this order: a manifest.csv; the published data sets SAIAPR TC-12,
LEAR packs (Corel-5k, ESP game, IAPR TC-12), COCO, Open Images, IAPR TC-12 and LabelMe;
any tree of photos with keywords in them or in sidecars.

-v names everything that was left out. With --strict the exit code is 3 if a photo or a
keyword was left out.`,
		Example: `  $ cpar dataset inspect photos/
  photos/: photos with keywords in them or beside them
  4500 photos with 371 keywords, 3.5 a photo (1 to 5)
  most frequent: water 1120, sky 988, tree 947, people 744, grass 497`,
		Args: oneArg("the folder of a collection"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Progress = bar.On(cmd.ErrOrStderr())
			collection, err := dataset.Open(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			survey, err := collection.Survey()
			if err != nil {
				return err
			}
			r := &surveyed{Folder: args[0], Survey: survey, Skipped: append([]photo.Skipped{}, collection.Skipped...),
				Warnings: append([]dataset.Warning{}, collection.Warnings...), peopleLeftOut: peopleLeftOut{collection.People}}
			return output(cmd, asJSON, r, func() {
				tellCollection(cmd, collection)
				r.print(cmd.OutOrStdout())
			})
		},
	}
	c.Flags().BoolVar(&o.Strict, "strict", false, "fail if a photo or a keyword was left out")
	peopleFlag(c, &o.IncludePeople)
	return jsonFlag(c, &asJSON)
}

// kindsOfCollections describes formats of collections by phrases for use in a
// sentence.
var kindsOfCollections = map[dataset.Format]string{
	dataset.Manifest: "a folder with a " + dataset.ManifestName,
	dataset.Embedded: "photos with keywords in them or beside them",
}

func (r *surveyed) print(w io.Writer) {
	kind := cmp.Or(kindsOfCollections[r.Format], string(r.Format)+", as published")
	fmt.Fprintf(w, "%s: %s\n", sanitize.Text(r.Folder), kind)
	fmt.Fprintf(w, "%s with %s, %.1f a photo (%d to %d)\n", photosOf(r.Photos), counted(r.Keywords, "keyword"), r.Mean, r.MinKeywords, r.MaxKeywords)
	fmt.Fprintf(w, "most frequent: %s\n", dataset.List(r.Frequent, len(r.Frequent)))
	if r.Rare > 0 {
		fmt.Fprintf(w, "of one photo only: %s\n", counted(r.Rare, "keyword"))
	}
	if r.Split != nil {
		fmt.Fprintf(w, "halves by %s: %d to train, %d to test\n", r.Split.By, r.Split.Train, r.Split.Test)
	}
}
