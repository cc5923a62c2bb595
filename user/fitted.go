package user

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"cpar"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/model/wordvector"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
)

// The type fitted holds what was learnt from the collection. Its segment is
// written when an index is built or compacted. The ledger authenticates the
// segment by its digest and holds the words that later updates add.
type fitted struct {
	profile  profile.Profile
	ranker   rank.Ranker
	keywords *keyword.Dictionary
	// search holds the vectors of the words. It is nil with profile "paper", in
	// schemes that cannot be updated, and in indexes of earlier versions.
	search *wordvector.Vectors
}

const (
	profileKind = 'F'
	// profileVersion is the version of the encoding specified in
	// docs/FORMAT.md. Profiles of version noVectors have no vectors of words.
	profileVersion, noVectors = 3, 2
	// Words, their vectors and the ranker are padded to paddedWords bytes times
	// a power of two, to hide the vocabulary's size.
	paddedWords = 1 << 16
)

func wordPadding(words int, version uint16) int {
	if version == noVectors {
		return (paddedWords - words%paddedWords) % paddedWords
	}
	return padding(words, paddedWords)
}

func appendFitted(b []byte, id cpar.IndexID, f fitted) (_ []byte, err error) {
	b = appendHeader(b, profileKind, profileVersion, id)
	start := len(b)
	b = appendWords(b, f.keywords.Words())
	if c, ok := f.ranker.(*rank.Calibrated); ok {
		b, err = wire.AppendEncoded(b, c)
	} else {
		b = binary.LittleEndian.AppendUint32(b, 0)
	}
	if err == nil {
		b, err = f.search.AppendBinary(b)
	}
	if err == nil {
		b, err = profile.Append(append(b, make([]byte, wordPadding(len(b)-start, profileVersion))...), f.profile)
	}
	if err != nil {
		return nil, fmt.Errorf("writing profile: %w", err)
	}
	return b, nil
}

// begin counts the words of a collection for a new index id and drops unused words.
func (l *ledger) begin(keywords [][]string) (err error) {
	if l.keywords, err = keyword.NewDictionary(keywords); err != nil {
		return err
	}
	l.dict, l.added = l.keywords, nil
	if c, ok := l.ranker.(*rank.Calibrated); ok {
		l.ranker = c.WithCounts(rank.Count(keywords), len(keywords))
	}
	return nil
}

func appendWords(b []byte, words []string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(words)))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(w)))
		b = append(b, w...)
	}
	return b
}

func readWords(r *wire.Reader) ([]string, error) {
	words := make([]string, r.Count(2, "words"))
	for i := range words {
		words[i] = string(r.Bytes(int(r.U16("word length")), "word"))
		if !utf8.ValidString(words[i]) {
			r.Fail("word %d is not UTF-8", i)
		}
	}
	return words, r.Err()
}

func readFitted(b []byte, id cpar.IndexID) (fitted, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	version, of, err := readHeader(r, "profile", profileKind, noVectors, profileVersion)
	if err == nil && of != id {
		r.Fail("it belongs to another index")
	}
	var f fitted
	if err == nil {
		err = f.readWords(r, version)
	}
	if err == nil {
		f.profile, err = profile.Read(r)
	}
	if err == nil {
		err = r.Close()
	}
	if err == nil {
		if err = f.profile.Validate(); err == nil && f.search != nil && f.search.Sums.Dim() != f.profile.Layout().JL {
			err = fmt.Errorf("vectors of words with %d values", f.search.Sums.Dim())
		}
		if err != nil {
			err = fmt.Errorf("%w: %v: %w", cpar.ErrCorrupt, f.profile.Kind(), err)
		}
	}
	if err != nil {
		return fitted{}, fmt.Errorf("reading profile: %w", err)
	}
	return f, nil
}

func (f *fitted) readWords(r *wire.Reader, version uint16) error {
	before := r.Left()
	words, err := readWords(r)
	if err != nil {
		return err
	}
	ranker := r.Bytes(r.Count(1, "bytes of a ranker"), "ranker")
	if version != noVectors {
		if f.search, err = wordvector.ReadVectors(r); err != nil {
			return err
		}
	}
	r.Zeros(wordPadding(before-r.Left(), version), "padding of the words")
	if r.Err() != nil {
		return r.Err()
	}
	f.ranker = rank.PaperRanker{}
	if len(ranker) > 0 {
		c := new(rank.Calibrated)
		if err := c.UnmarshalBinary(ranker); err != nil {
			return err
		}
		f.ranker = c
	}
	f.keywords, err = keyword.FromWords(words)
	return err
}

func encryptFitted(x *index.Index, f fitted) ([]byte, error) {
	plain, err := appendFitted(nil, x.ID, f)
	if err != nil {
		return nil, err
	}
	nonce := seed.New(x.Fresh("fitted", sha256.Sum256(plain)))
	return aead.New(x.Secret("fitted")).Seal(nil, nonce, plain, fittedBinding(x.ID)), nil
}

func decryptFitted(encrypted []byte, key *Key, id cpar.IndexID) (fitted, error) {
	plain, err := aead.New(seed.Derive(key.secret, "fitted", id[:])).Open(encrypted, fittedBinding(id))
	if err != nil {
		return fitted{}, fmt.Errorf("reading profile: %w: %w", cpar.ErrCorrupt, err)
	}
	return readFitted(plain, id)
}

// fittedBinding returns data to authenticate. It avoids the label "profile",
// which the ledger already uses.
func fittedBinding(id cpar.IndexID) []byte { return append([]byte("cpar/v1/fitted"), id[:]...) }
