package vocabulary

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"cpar"
)

// Passing all Rules to With rebuilds the parsed vocabulary.
func TestRulesMakeTheVocabularyAgain(t *testing.T) {
	v := parsed(t, example)
	var again *Vocabulary
	var err error
	for _, r := range v.Rules() {
		if again, err = again.With(r); err != nil {
			t.Fatal(err)
		}
	}
	if again, err = again.In("DE"); err != nil || !bytes.Equal(again.Text(), v.Text()) {
		t.Errorf("%v: %s\nwant %s", err, again.Text(), v.Text())
	}
	if again.Language() != "de" || !reflect.DeepEqual(again.Languages(), []string{"de", "fr"}) {
		t.Errorf("languages %q, %q", again.Language(), again.Languages())
	}
}

func TestWithReplacesTheRuleOfAWord(t *testing.T) {
	v := parsed(t, example)
	next, err := v.With(Rule{Word: "Dog", Parents: " mammal ", Translations: map[string]string{"IT": "cane", "de": ""}})
	if err != nil {
		t.Fatal(err)
	}
	var dog Rule
	for _, r := range next.Rules() {
		if fold(r.Word) == "dog" {
			dog = r
		}
	}
	if want := (Rule{Word: "Dog", Parents: "mammal", Translations: map[string]string{"it": "cane"}}); !reflect.DeepEqual(dog, want) {
		t.Errorf("%+v, want %+v", dog, want)
	}
	if !bytes.Equal(v.Text(), parsed(t, example).Text()) {
		t.Error("the vocabulary before has changed")
	}
	for _, word := range []string{"dog", "animal"} { // the last German words
		if next, err = next.With(Rule{Word: word}); err != nil {
			t.Fatal(err)
		}
	}
	if next.Language() != "" {
		t.Errorf("words are written in %s, which has no translation", next.Language())
	}
	for _, r := range []Rule{{Word: " "}, {Word: "hound", Parents: "hound"}, {Word: "a;b", Never: true}} {
		if _, err := v.With(r); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := v.In("it"); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a language without translations: %v", err)
	}
}
