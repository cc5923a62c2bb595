package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar/internal/settings"
	"cpar/user/vocabulary"
)

type albumSearchFlags struct {
	albumFlags
	words, index string
	fetch        bool
}

func albumSearch() *cobra.Command {
	var f albumSearchFlags
	c := f.add(&cobra.Command{
		Use:   "search QUERY",
		Short: "search the album on this device",
		Long: `search prints the photos that a query finds, with their dates and keywords. It searches
this device's copy of the catalogue, so the cloud sees nothing. --fetch first fetches what
other devices have added. A keyword followed by a question mark is a suggestion of cpar
that no person has accepted.

A vocabulary (cpar words) also finds synonyms and words below others. If this device has
made exactly one index with a vocabulary, that vocabulary applies. --index names another
index. The vocabulary is read from the folder of the index, so on a device without the
folder, pass --vocabulary FILE.

` + queries,
		Example: `  $ cpar album search 'dog beach 2024 -party'
  photos/2024/IMG_1704.jpg  2024-07-16  beach, dog, sea`,
		Args: someArgs("a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := f.vocabulary()
			if err != nil {
				return err
			}
			_, _, photos, err := f.found(args, f.fetch, false, v)
			if err != nil {
				return err
			}
			rows := albumRows(photos)
			return output(cmd, f.asJSON, rows, func() {
				printRows(cmd.OutOrStdout(), rows)
				fmt.Fprintln(cmd.ErrOrStderr(), photosOf(len(rows)))
			})
		},
	})
	c.Flags().BoolVar(&f.fetch, "fetch", false, "fetch what other devices have added before")
	c.Flags().StringVar(&f.words, "vocabulary", "", "`file` with a vocabulary, instead of the one of an index; none for no vocabulary")
	c.Flags().StringVar(&f.index, "index", "", indexUsage+", whose vocabulary applies")
	return c
}

// vocabulary returns the vocabulary of a file, of the index that was named, or of
// the only index with a vocabulary. It asks the cloud nothing.
func (f *albumSearchFlags) vocabulary() (*vocabulary.Vocabulary, error) {
	named := f.cmd.Flags().Changed("index")
	switch {
	case f.words != "" && named:
		return nil, usageOf("--vocabulary and --index exclude each other")
	case f.words == settings.None:
		return &vocabulary.Vocabulary{}, nil
	case f.words != "":
		return readVocabulary(f.words)
	}
	if f.index != "" {
		o, _, err := openIndexOf(&f.keys, f.index)
		if err == nil {
			return o.Vocabulary(), nil
		}
		if named { // a setting may name an index that has no folder on this device
			return nil, err
		}
	}
	key, this, err := f.keys.read()
	if err != nil {
		return nil, err
	}
	all, err := this.Vocabularies(key)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		resolved(f.cmd, "%d indexes have a vocabulary, and none of them applies; --index names one", len(all))
		return &vocabulary.Vocabulary{}, nil
	}
	for _, v := range all {
		return v, nil
	}
	return &vocabulary.Vocabulary{}, nil
}
