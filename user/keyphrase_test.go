package user

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"cpar"
)

// TestPhraseIsPinned uses the published BIP-39 vectors (Trezor), so that other
// programs can read the phrase.
func TestPhraseIsPinned(t *testing.T) {
	for entropy, phrase := range map[string]string{
		strings.Repeat("00", 32): strings.Repeat("abandon ", 23) + "art",
		strings.Repeat("7f", 32): "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth title",
		"68a79eaca2324873eacc50cb9c6eca8cc68ea5d936f98787c60c7ebc74e6ce7c": "hamster diagram private dutch cause delay private meat slide toddler razor book happy fancy gospel tennis maple dilemma loan word shrug inflict delay length",
	} {
		k := NewKey()
		if _, err := hex.Decode(k.secret[:], []byte(entropy)); err != nil {
			t.Fatal(err)
		}
		if got, err := k.Phrase(); err != nil || got != phrase {
			t.Errorf("%s is %q, %v", entropy, got, err)
		}
		back, err := FromPhrase("  "+strings.ToUpper(strings.ReplaceAll(phrase, " ", "\n ")), cpar.SchemeCAPIA)
		if err != nil || back.secret != k.secret || back.Fingerprint() != k.Fingerprint() || back.Policy() != DefaultPolicy().With(cpar.SchemeCAPIA) {
			t.Errorf("%q is read as another key: %v", phrase, err)
		}
	}
}

func TestDamagedPhrasesAreRejected(t *testing.T) {
	phrase, err := NewKey().Phrase()
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(phrase)
	swapped := append([]string{words[1], words[0]}, words[2:]...)
	if words[0] == words[1] { // once in two thousand
		swapped[23] = "zoo"
	}
	for name, c := range map[string]struct{ phrase, says string }{
		"nothing":     {"", "0 words"},
		"23 words":    {strings.Join(words[1:], " "), "23 words"},
		"no word":     {strings.Join(words[:5], " ") + " strand1 " + strings.Join(words[6:], " "), "word 6 "},
		"other order": {strings.Join(swapped, " "), "checksum"},
	} {
		_, err := FromPhrase(c.phrase)
		// A checksum of eight bits accepts one wrong phrase in 256.
		if name == "other order" && err == nil {
			continue
		}
		if !errors.Is(err, cpar.ErrKey) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), words[3]+" ") {
			t.Errorf("%s: the error reveals a word: %v", name, err)
		}
	}
}
