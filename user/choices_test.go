package user

import (
	"bytes"
	"encoding/binary"
	"testing"

	"cpar"
	"cpar/model/rank"
)

func TestChoicesSurviveUpdates(t *testing.T) {
	key, want := testKey(), testChoices(t)
	images := madeImages(6, 2)
	opt := small(cpar.SchemeLocal)
	opt.IncludePeople, opt.Vocabulary = true, want.former
	_, folder := build(t, key, images, opt)
	check := func(what string, people bool, now, former []byte) {
		t.Helper()
		o := look(t, key, folder)
		got := o.ledger.choices
		if o.IncludesPeople() != people || !bytes.Equal(o.Vocabulary().Text(), now) || !bytes.Equal(got.former.Text(), former) {
			t.Errorf("%s: people %v, vocabulary %q, before %q", what, got.people, got.vocabulary.Text(), got.former.Text())
		}
	}
	before, now := want.former.Text(), want.vocabulary.Text()
	check("built", true, before, nil)
	set := func(written bool) {
		t.Helper()
		u, err := SetVocabulary(t.Context(), key, folder, want.vocabulary, UpdateOptions{})
		if err != nil || u.Written != written {
			t.Fatalf("written %v, %v", u.Written, err)
		}
	}
	set(true)
	set(false)
	check("set", true, now, before)
	if u, _, err := syncing(t, key, folder, images, SyncOptions{IncludePeople: true}); err != nil || u.Written {
		t.Fatalf("nothing has changed, and it was written: %v", err)
	}
	if u, _, err := syncing(t, key, folder, images, SyncOptions{}); err != nil || !u.Written || u.Unchanged != 6 {
		t.Fatalf("the choice was not written: %v", err)
	}
	check("without people", false, now, before)
	for _, work := range []func() (*Update, error){
		func() (*Update, error) { return Compact(t.Context(), key, folder, UpdateOptions{}) },
		func() (*Update, error) { return Rename(t.Context(), key, folder, "other", UpdateOptions{}) },
		func() (*Update, error) { return Add(t.Context(), key, folder, madeImages(1, 9), nil) },
	} {
		if _, err := work(); err != nil {
			t.Fatal(err)
		}
		check("updated", false, now, before)
	}
	for range 2 {
		if _, err := UndoVocabulary(t.Context(), key, folder, UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		now, before = before, now
		check("undone", false, now, before)
	}
}

func TestRankAppliesTheVocabulary(t *testing.T) {
	opt := small(cpar.SchemeLocal)
	opt.Vocabulary = testChoices(t).vocabulary
	b := setUp(t, testKey(), madeImages(5, 2), opt)
	got, err := b.Rank([]rank.Neighbour{{Keywords: []string{"hound", "selfie"}}, {Dis: 1, Keywords: []string{"dog"}}}, Ranking{MaxKeywords: 9})
	if err != nil || len(got) != 1 || got[0].Word != "dog" {
		t.Errorf("ranked %+v, %v", got, err)
	}
}

// TestLedgerOfVersion8Opens rewrites a ledger as version 8 did, without
// choices.
func TestLedgerOfVersion8Opens(t *testing.T) {
	key := testKey()
	_, folder := build(t, key, madeImages(5, 2), small(cpar.SchemeLocal))
	x := look(t, key, folder)
	m, ledger := resealed(t, key, x, func(plain []byte) []byte {
		binary.LittleEndian.PutUint16(plain[versionAt:], 8)
		return plain // absent choices and padding are both zeros
	})
	o, err := Open(key, m, x.with(ledger))
	if err != nil || o.IncludesPeople() || !o.Vocabulary().Empty() {
		t.Fatalf("%v, %v", o, err)
	}
	plain, err := o.ledger.after().appendBinary(nil, o.scheme)
	if err != nil || binary.LittleEndian.Uint16(plain[versionAt:]) != ledgerVersion {
		t.Errorf("the next generation has another version: %v", err)
	}
}
