package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/photo"
	"cpar/photo/metadata"
	"cpar/user/vocabulary"
)

// importedWords is the JSON output of words import.
type importedWords struct {
	File    string            `json:"file,omitempty"`
	Rules   vocabulary.Counts `json:"rules"`
	LeftOut []string          `json:"left_out"`
	DryRun  bool              `json:"dry_run"`
}

func vocabularyImport() *cobra.Command {
	var out string
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "import LIST|FOLDER…",
		Short: "make a vocabulary from keyword lists and hierarchies of photo programs",
		Long: `import makes a vocabulary of your photo program's hierarchies and synonyms, from

  a keyword list, as Lightroom exports it (Metadata, Export Keywords): indented by tabs,
    synonyms in {braces}, categories that are not keywords in [brackets]
  a text file with one hierarchy per line, such as animal/pet/dog or animal|pet|dog
  a folder of photos, whose hierarchies digiKam and Lightroom have written into the photos
    or sidecars

Names of people are left out. For a word in several places, the first counts. Everything
left out is listed.`,
		Example: `  $ cpar words import "Lightroom Keywords.txt" photos/ --out vocabulary.toml
  wrote vocabulary.toml: 14 synonyms, 212 words with parents
  $ cpar words set vocabulary.toml --index family`,
		Args: someArgs("a keyword list or a folder of photos"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" && !dryRun {
				return hint.Add(usageOf("no file was named"), "pass --out vocabulary.toml, or --dry-run")
			}
			v, left, err := importLists(cmd, args)
			if err != nil {
				return err
			}
			r := importedWords{File: out, Rules: v.Counts(), LeftOut: append([]string{}, left...), DryRun: dryRun}
			if !dryRun {
				if err := writeNew(out, v.Text()); err != nil {
					return err
				}
			}
			return output(cmd, asJSON, r, func() {
				printSome(cmd, left, func(word string) string { return "left out: " + sanitize.Text(word) })
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", either(dryRun, "would write", "wrote "+sanitize.Text(out)), rulesOf(r.Rules))
				if !dryRun {
					next(cmd, "cpar words set %s --index INDEX", shellWord(out))
				}
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` for the vocabulary, which must not exist")
	return writerFlags(c, &dryRun, &asJSON)
}

func importLists(cmd *cobra.Command, args []string) (*vocabulary.Vocabulary, []string, error) {
	var lists []*vocabulary.List
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, nil, fmt.Errorf("importing words: %w: %w", cpar.ErrInput, err)
		}
		var l *vocabulary.List
		if info.IsDir() {
			l, err = hierarchiesIn(cmd, arg)
		} else {
			var text []byte
			if text, err = readAtMost(arg, 16*vocabulary.MaxBytes); err != nil {
				err = fmt.Errorf("%w: %w", cpar.ErrInput, err)
			} else {
				l, err = vocabulary.ReadList(text)
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", sanitize.Text(arg), err)
		}
		lists = append(lists, l)
	}
	return vocabulary.FromLists(lists...)
}

func hierarchiesIn(cmd *cobra.Command, folder string) (*vocabulary.List, error) {
	found, err := findPhotos(cmd, []string{folder}, photo.Options{})
	if err != nil {
		return nil, err
	}
	l, tell := &vocabulary.List{}, bar.On(cmd.ErrOrStderr())
	for i, p := range found {
		for _, file := range append([]string{p.Path}, p.Also...) {
			words, _, err := metadata.ReadFile(file)
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "left out %s: %v\n", sanitize.Text(file), photo.Cause(err))
				continue
			}
			l.Paths = append(l.Paths, words.Paths...)
		}
		tell.Report("keywords", i+1, len(found))
		if err := cmd.Context().Err(); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func writeNew(path string, data []byte) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return hint.Add(fmt.Errorf("writing %s: %w: it exists", sanitize.Text(path), cpar.ErrInput), "name another file")
	}
	return durable.WriteFile(path, data, 0o600)
}
