package user

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/wire"
	"cpar/user/vocabulary"
)

// choices holds the owner's decisions about the words of an index. The ledger
// stores them, so that updates on any device obey them.
type choices struct {
	people bool
	// vocabulary is applied to keywords, unless it is nil.
	vocabulary *vocabulary.Vocabulary
	// former is the previous vocabulary, kept for undo. It may be nil.
	former *vocabulary.Vocabulary
}

// append appends the encoding of c, which ledgers contain from choicesVersion on.
func (c *choices) append(b []byte) []byte {
	people := byte(0)
	if c.people {
		people = 1
	}
	b = append(b, people)
	for _, v := range []*vocabulary.Vocabulary{c.vocabulary, c.former} {
		text := v.Text()
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	return b
}

func readChoices(r *wire.Reader) (c choices, err error) {
	people := r.U8("choice on names of people")
	if people > 1 {
		r.Fail("the choice %d on names of people", people)
	}
	c.people = people == 1
	for _, v := range []**vocabulary.Vocabulary{&c.vocabulary, &c.former} {
		text := r.Bytes(r.Count(1, "bytes of a vocabulary"), "vocabulary")
		if r.Err() != nil {
			return c, r.Err()
		}
		if len(text) == 0 {
			continue
		}
		if *v, err = vocabulary.Parse(text); err == nil && !bytes.Equal((*v).Text(), text) {
			err = fmt.Errorf("%w: its vocabulary is not in canonical form", cpar.ErrCorrupt)
		}
		if err != nil {
			return c, err
		}
	}
	return c, r.Err()
}

// IncludesPeople reports whether names of people count as keywords of the index.
func (o *Owner) IncludesPeople() bool { return o.ledger.choices.people }

// Vocabulary returns the owner's vocabulary, which is nil or empty for none.
func (o *Owner) Vocabulary() *vocabulary.Vocabulary { return o.ledger.choices.vocabulary }

// SetVocabulary replaces the vocabulary of the index (scheme sealed or local) in folder
// and makes a new generation. A nil or empty v removes the vocabulary.
func SetVocabulary(ctx context.Context, key *Key, folder string, v *vocabulary.Vocabulary, o UpdateOptions) (*Update, error) {
	return update(key, folder, "changing the vocabulary of the index", o, func(u *updater) error { return u.setVocabulary(ctx, v) })
}

// UndoVocabulary restores the vocabulary that preceded the last change. A
// second call restores the changed vocabulary.
func UndoVocabulary(ctx context.Context, key *Key, folder string, o UpdateOptions) (*Update, error) {
	return update(key, folder, "restoring the vocabulary of the index", o, func(u *updater) error {
		return u.setVocabulary(ctx, u.owner.ledger.choices.former)
	})
}

func (u *updater) setVocabulary(ctx context.Context, v *vocabulary.Vocabulary) error {
	now := u.owner.ledger.choices
	if bytes.Equal(v.Text(), now.vocabulary.Text()) {
		return nil
	}
	now.vocabulary, now.former = v, now.vocabulary
	return u.change(ctx, change{choices: &now})
}
