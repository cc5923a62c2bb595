package user

import (
	"fmt"
	"strings"

	"github.com/tyler-smith/go-bip39"

	"cpar"
	"cpar/internal/hint"
)

const PhraseWords = 24

// Phrase returns the seed as 24 English words (BIP-39) for storage on paper. Anyone who
// reads the phrase has the key. The phrase does not contain the policy.
func (k *Key) Phrase() (string, error) {
	phrase, err := bip39.NewMnemonic(k.secret[:])
	if err != nil {
		return "", fmt.Errorf("writing the key as words: %w", err)
	}
	return phrase, nil
}

// FromPhrase decodes a phrase made by Key.Phrase. The key allows DefaultPolicy and the
// named schemes. Errors give the position of a wrong word but not the word.
func FromPhrase(phrase string, allow ...cpar.Scheme) (*Key, error) {
	words := strings.Fields(strings.ToLower(phrase))
	if len(words) != PhraseWords {
		return nil, fmt.Errorf("reading the phrase: %w: it has %d words, want %d", cpar.ErrKey, len(words), PhraseWords)
	}
	for i, w := range words {
		if _, ok := bip39.GetWordIndex(w); !ok {
			return nil, hint.Add(fmt.Errorf("reading the phrase: %w: word %d is not one of the list (BIP-39, English)", cpar.ErrKey, i+1),
				"compare that word with your paper: it is misspelt, or a word is missing or doubled before it")
		}
	}
	entropy, err := bip39.EntropyFromMnemonic(strings.Join(words, " "))
	if err != nil {
		return nil, fmt.Errorf("reading the phrase: %w: its checksum does not match; a word is wrong or misplaced", cpar.ErrKey)
	}
	k := &Key{allows: DefaultPolicy().With(allow...)}
	copy(k.secret[:], entropy)
	return k, nil
}
