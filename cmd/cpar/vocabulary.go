package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/sanitize"
	"cpar/photo/metadata"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/vocabulary"
)

func vocabularyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "words",
		Short: "show, set and import your own vocabulary",
		Long: `words manages the vocabulary of an index: synonyms, translations, words above others, and
words that are never suggested. It is applied when keywords are suggested, written and
searched, on every device, and stored encrypted with the index. Keywords that are already
written stay, and cpar undo removes the keywords of a run. cpar ui has a page for it.

A vocabulary is a TOML file, each part of which may be missing:

  language = "de"               write translations into this language
  never = ["todo", "selfie"]

  [synonyms]
  hound = "dog"                 hound is written as dog

  [parents]
  dog = "animal/pet"            with dog, animal and pet are written too

  [translations.de]
  dog = "Hund"`,
	}, vocabularyShow(), vocabularySet(), vocabularyUndo(), vocabularyCheck(), vocabularyImport(), vocabularyFind())
}

func readVocabulary(file string) (*vocabulary.Vocabulary, error) {
	b, err := readAtMost(file, vocabulary.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("reading the vocabulary: %w: %w", cpar.ErrInput, err)
	}
	v, err := vocabulary.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sanitize.Text(file), err)
	}
	return v, nil
}

// readAtMost reads at most `limit`+1 bytes of a file. If it returns more than
// `limit` bytes, the file is too long.
func readAtMost(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// rulesOf counts the rules of each kind that a vocabulary has.
func rulesOf(c vocabulary.Counts) string {
	var parts []string
	for _, kind := range []struct {
		n          int
		noun, rest string
	}{{c.Synonyms, "synonym", ""}, {c.Translations, "translation", ""}, {c.Parents, "word", " with parents"}, {c.Never, "word", " never suggested"}} {
		if kind.n > 0 {
			parts = append(parts, counted(kind.n, kind.noun)+kind.rest)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no rules")
}

func vocabularyShow() *cobra.Command {
	var f updateFlags
	return f.addReading(&cobra.Command{
		Use:   "show --index INDEX",
		Short: "print the vocabulary of an index",
		Long:  "show prints the vocabulary of an index in the form that set reads.",
		Example: `  $ cpar words show --index family > vocabulary.toml
  $ cpar words set vocabulary.toml --index family`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.openIndex()
			if err != nil {
				return err
			}
			v := o.Vocabulary()
			r := map[string]any{"index": f.index, "rules": v.Counts(), "vocabulary": string(v.Text())}
			return output(cmd, f.asJSON, r, func() {
				fmt.Fprint(cmd.OutOrStdout(), string(v.Text()))
				if v.Empty() {
					fmt.Fprintf(cmd.ErrOrStderr(), "note: %s has no vocabulary; cpar words --help shows one\n", f.index)
				}
			})
		},
	})
}

// addReading adds the flags of a command that only reads an index folder.
func (f *updateFlags) addReading(c *cobra.Command) *cobra.Command {
	f.keys.add(c)
	c.Flags().StringVar(&f.index, "index", "", indexUsage)
	return jsonFlag(c, &f.asJSON)
}

func (f *updateFlags) openIndex() (o *user.Owner, err error) {
	o, f.index, err = openIndexOf(&f.keys, f.index)
	return o, err
}

// openIndexOf opens the index that --index names, and returns its folder.
func openIndexOf(keys *keyFlags, index string) (*user.Owner, string, error) {
	folder, err := indexFolder(keys, index)
	if err != nil {
		return nil, "", err
	}
	key, _, err := keys.read()
	if err != nil {
		return nil, folder, err
	}
	o, _, err := device.OpenFolder(key, folder)
	return o, folder, err
}

func vocabularySet() *cobra.Command {
	var f updateFlags
	return f.add(&cobra.Command{
		Use:   "set FILE --index INDEX",
		Short: "give an index a vocabulary",
		Long: `set replaces the vocabulary of an index of scheme sealed or local by the one in a file. An
empty file removes it. The next push sends it, encrypted. cpar words undo restores the
previous one. For other schemes, pass --vocabulary to cpar build.`,
		Example: `  $ cpar words set vocabulary.toml --index family
  family.index has 1 synonym, 1 translation, 1 word with parents, 2 words never suggested: 4540 photos, 41 kB to push`,
		Args: oneArg("a file with a vocabulary"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := readVocabulary(args[0])
			if err != nil {
				return err
			}
			return f.changeVocabulary(cmd, func(ctx context.Context, key *user.Key, o user.UpdateOptions) (*user.Update, error) {
				return user.SetVocabulary(ctx, key, f.index, v, o)
			})
		},
	})
}

func vocabularyUndo() *cobra.Command {
	var f updateFlags
	return f.add(&cobra.Command{
		Use:     "undo --index INDEX",
		Short:   "restore the vocabulary before the last change",
		Long:    "undo restores the vocabulary that an index had before the last change. A second undo repeats the change.",
		Example: "  $ cpar words undo --index family",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.changeVocabulary(cmd, func(ctx context.Context, key *user.Key, o user.UpdateOptions) (*user.Update, error) {
				return user.UndoVocabulary(ctx, key, f.index, o)
			})
		},
	})
}

func (f *updateFlags) changeVocabulary(cmd *cobra.Command, change func(context.Context, *user.Key, user.UpdateOptions) (*user.Update, error)) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.update(cmd, func(ctx context.Context, o opened, r *updated) (err error) {
		r.Update, err = change(ctx, o.key, user.UpdateOptions{DryRun: f.dryRun})
		return err
	}, func(out io.Writer, r *updated) {
		switch {
		case r.Bytes == 0:
			fmt.Fprintf(out, "%s has this vocabulary already; nothing was written\n", f.index)
			return
		case f.dryRun:
			fmt.Fprintf(out, "would change the vocabulary of %s: %s\n", f.index, f.wrote(r))
			return
		}
		o, err := f.openIndex()
		if err != nil { // only a note, because the update itself succeeded
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %v\n", err)
			return
		}
		fmt.Fprintf(out, "%s has %s: %s\n", f.index, rulesOf(o.Vocabulary().Counts()), f.wrote(r))
		nextPush(cmd, f.index, "")
	})
}

// foundPhoto is the JSON output of words find for one photo.
type foundPhoto struct {
	Photo string   `json:"photo"`
	Words []string `json:"words"`
}

func vocabularyFind() *cobra.Command {
	var f updateFlags
	return f.addReading(&cobra.Command{
		Use:   "find WORD",
		Short: "find photos with a word that cpar has written or you have accepted",
		Long: `find lists the photos of this device with a keyword that begins with a word. With --index
the vocabulary of an index applies: a search for animal also finds photos with dog, and a
search for hound finds photos with its synonym.`,
		Example: `  $ cpar words find animal --index family
  photos/0017.jpg: animal, dog, pet`,
		Args: oneArg("a word"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var related []string
			if f.index != "" {
				o, err := f.openIndex()
				if err != nil {
					return err
				}
				related = o.Vocabulary().Related(args[0])
			}
			l, err := openLibrary(&f.keys)
			if err != nil {
				return err
			}
			found := []foundPhoto{}
			for _, r := range l.Find(args[0], related...) {
				found = append(found, foundPhoto{r.Path, r.Added})
			}
			return output(cmd, f.asJSON, found, func() {
				for _, p := range found {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", sanitize.Text(p.Photo), sanitize.Text(strings.Join(p.Words, ", ")))
				}
				if len(found) == 0 {
					fmt.Fprintln(cmd.ErrOrStderr(), "note: no photo has such a word")
				}
			})
		},
	})
}

// checkedWords is the JSON output of words check.
type checkedWords struct {
	File  string            `json:"file"`
	Rules vocabulary.Counts `json:"rules"`
	// Unknown lists words in rules that are no keywords of the index.
	Unknown []string `json:"unknown"`
}

func vocabularyCheck() *cobra.Command {
	var f updateFlags
	return f.addReading(&cobra.Command{
		Use:   "check FILE",
		Short: "check a vocabulary before it is set",
		Long: `check reads a vocabulary and counts its rules. With --index it also lists the words of
rules that the index does not have, which may be misspelt. It changes nothing.`,
		Example: `  $ cpar words check vocabulary.toml --index family
  vocabulary.toml: 1 synonym, 1 translation, 1 word with parents, 2 words never suggested
  not in the index: selfie`,
		Args: oneArg("a file with a vocabulary"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := readVocabulary(args[0])
			if err != nil {
				return err
			}
			r := checkedWords{File: args[0], Rules: v.Counts(), Unknown: []string{}}
			if f.index != "" {
				o, err := f.openIndex()
				if err != nil {
					return err
				}
				known := map[string]bool{}
				for _, w := range o.Keywords() {
					known[metadata.Fold(w)] = true
				}
				r.Unknown = slices.DeleteFunc(v.Subjects(), func(w string) bool { return known[metadata.Fold(w)] })
			}
			return output(cmd, f.asJSON, r, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", sanitize.Text(r.File), rulesOf(r.Rules))
				if len(r.Unknown) > 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "not in the index: %s\n", sanitize.Text(strings.Join(r.Unknown, ", ")))
				}
			})
		},
	})
}
