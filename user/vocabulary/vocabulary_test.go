package vocabulary

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"cpar"
	"cpar/model/rank"
)

const example = `
language = "de"
never = ["selfie"]

[synonyms]
hound = "dog"
doggy = "hound"

[parents]
dog = "animal/pet"
pet = "companion"

[translations.de]
dog = "Hund"
animal = "Tier"

[translations.fr]
dog = "chien"
`

func parsed(t *testing.T, text string) *Vocabulary {
	t.Helper()
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWordsAreWrittenAsTheOwnerWrites(t *testing.T) {
	german, plain := parsed(t, example), parsed(t, strings.Replace(example, `language = "de"`, "", 1))
	for word, want := range map[string][2]string{
		"dog": {"Hund", "dog"}, "Dog": {"Hund", "dog"}, "hound": {"Hund", "dog"}, "doggy": {"Hund", "dog"},
		"chien": {"Hund", "dog"}, "Hund": {"Hund", "dog"}, "animal": {"Tier", "animal"}, "pet": {"pet", "pet"}, "cat": {"cat", "cat"},
	} {
		if got := [2]string{german.Word(word), plain.Word(word)}; got != want {
			t.Errorf("%s is written %q, want %q", word, got, want)
		}
	}
	if !german.Never("Selfie") || german.Never("dog") {
		t.Error("selfie alone is never suggested")
	}
}

func TestApplyMergesSynonymsAndAddsParents(t *testing.T) {
	v := parsed(t, example)
	got := v.Apply([]rank.Keyword{{Word: "selfie", Probability: 0.9}, {Word: "hound", Probability: 0.6, Weight: 3}, {Word: "sea", Probability: 0.5}, {Word: "dog", Probability: 0.4, Weight: 4}, {Word: "pet", Probability: 0.1}})
	want := []rank.Keyword{{Word: "Hund", Probability: 0.6, Weight: 4}, {Word: "Tier", Probability: 0.6, Weight: 4}, {Word: "pet", Probability: 0.6, Weight: 4}, {Word: "companion", Probability: 0.6, Weight: 4}, {Word: "sea", Probability: 0.5}}
	if !slices.Equal(got, want) {
		t.Errorf("applied: %+v, want %+v", got, want)
	}
	if got := (*Vocabulary)(nil).Apply(want); !slices.Equal(got, want) {
		t.Errorf("no vocabulary changes words: %+v", got)
	}
}

func TestSearchFindsSynonymsTranslationsAndChildren(t *testing.T) {
	v := parsed(t, example)
	for typed, want := range map[string][]string{
		"Hun":   {"Hund", "chien", "dog", "doggy", "hound"},
		"chien": {"Hund", "chien", "dog", "doggy", "hound"},
		"comp":  {"Hund", "chien", "companion", "dog", "doggy", "hound", "pet"},
		"cat":   nil,
		"":      nil,
	} {
		if got := v.Related(typed); !slices.Equal(got, want) {
			t.Errorf("%q also means %q, want %q", typed, got, want)
		}
	}
}

func TestTextIsReadAgain(t *testing.T) {
	v := parsed(t, example)
	again := parsed(t, string(v.Text()))
	if !bytes.Equal(again.Text(), v.Text()) || v.Counts() != (Counts{2, 3, 2, 1}) || again.Counts() != v.Counts() {
		t.Errorf("%s is read as %s", v.Text(), again.Text())
	}
	if empty := parsed(t, "# nothing"); !empty.Empty() || empty.Text() != nil {
		t.Error("an empty vocabulary has a text")
	}
}

func TestUnusableVocabulariesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[synonyms]\na = 'b'\nb = 'a'":             "line 2: unusable input: the synonyms of a lead back to it",
		"[parents]\ndog = 'pet'\npet = 'dog'":      "line 2: unusable input: dog is a parent of itself",
		"[parents]\ndog = 'animal//pet'":           "line 2: unusable input: an empty word",
		"language = 'de'":                          "language de has no translations",
		"[synonym]\na = 'b'":                       "line 1: there is no synonym",
		"never = [\"a\\u0007\"]":                   "control character",
		"[synonyms]\nHound = 'dog'\nhound = 'cat'": "line 2: unusable input: two rules of one kind are about hound",
		"never = 3": "line 1",
	} {
		_, err := Parse([]byte(text))
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestListsOfPhotoProgramsAreRead(t *testing.T) {
	lightroom := "animal\n\tpet\n\t\tdog\n\t\t\t{hound}\n\t\tcat\n[PLACES]\n\tItaly\n\t\tRome\nPeople\n\tAda\n"
	paths := "animal/pet/dog\nfruit|orange\ncolour|orange\nPeople/Ben\nlone\n"
	list := func(text string) *List {
		l, err := ReadList([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	v, left, err := FromLists(list(lightroom))
	if err != nil || !slices.Equal(left, []string{"People/Ada"}) {
		t.Fatal(left, err)
	}
	want := map[string]string{"pet": "animal", "dog": "animal/pet", "cat": "animal/pet", "Rome": "Italy"}
	if len(v.file.Parents) != len(want) || v.file.Parents["dog"] != want["dog"] || v.file.Parents["Rome"] != "Italy" || v.Word("hound") != "dog" {
		t.Errorf("read %s", v.Text())
	}
	v, left, err = FromLists(list(paths))
	if err != nil || !slices.Equal(left, []string{"People/Ben", "colour/orange"}) {
		t.Fatal(left, err)
	}
	if len(v.file.Parents) != 2 || v.file.Parents["orange"] != "fruit" || v.file.Parents["dog"] != "animal/pet" {
		t.Errorf("read %s", v.Text())
	}
	for _, text := range []string{"a\n\t\tb", "\xff"} {
		if _, err := ReadList([]byte(text)); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if err != nil {
			if !errors.Is(err, cpar.ErrInput) {
				t.Errorf("%v does not wrap ErrInput", err)
			}
			return
		}
		again, err := Parse(v.Text())
		if err != nil || !bytes.Equal(again.Text(), v.Text()) {
			t.Errorf("%q is read again as %q, %v", v.Text(), again.Text(), err)
		}
		v.Related("a")
		v.Apply([]rank.Keyword{{Word: "a"}, {Word: "b"}})
	})
}

func FuzzList(f *testing.F) {
	f.Add([]byte("animal\n\tpet\n\t\t{hound}\n[x]\n\ta/b|c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ReadList(text)
		if err == nil {
			_, _, err = FromLists(l)
		}
		if err != nil && !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%v does not wrap ErrInput", err)
		}
	})
}
