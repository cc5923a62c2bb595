package user

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/wordvector"
	"cpar/user/internal/aead"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
)

// A ledger holds the owner's secrets for one generation of an index. It is
// stored encrypted with the index, so a second device needs only the key. Large
// parts that updates do not change have their own segment (fitted.go).
type ledger struct {
	id cpar.IndexID
	// origin is the id for which the projection of vectors to integers was
	// drawn. It equals id unless Compact made the index.
	origin cpar.IndexID
	scheme cpar.Scheme
	name   string
	// records counts all records ever added.
	records    int
	live       int // records not removed
	generation uint64
	// begun is the first generation under this id. Every id has its own keys.
	begun uint64
	// contents is the digest of all other segments, which proves that they
	// belong together.
	contents [sha256.Size]byte
	history  History
	// added holds the words added since the profile was written.
	added   []string
	choices choices
	// rows holds, for each word, the sum of the rows of its photos added since
	// the profile was written, less the rows of photos removed since. It is nil
	// if the profile has no vectors of words.
	rows *wordvector.Sums
	// digest is zero until the ledger is encoded.
	digest [sha256.Size]byte

	fitted
	dict *keyword.Dictionary
}

const (
	ledgerMagic = "CPAR"
	ledgerKind  = 'P'
	// ledgerVersion is the version of the encoding specified in docs/FORMAT.md.
	// Ledgers from oldLedgerVersion on can be read, and updates replace them.
	// Ledgers before choicesVersion have no choices, and ledgers before
	// rowsVersion no sums of rows.
	ledgerVersion, oldLedgerVersion, choicesVersion, rowsVersion = 10, 7, 9, 10
)

// minWords is the padded length, in bytes, of added words and choices. With
// sums, it is minSummed. Longer data are padded to this length times a power of
// two, so that their size reveals little. Sums longer than maxSums become part
// of a new profile.
const minWords, maxSums, minSummed = 4096, 12 << 10, 16 << 10

// wordsPadding returns the number of zeros after n bytes of words.
func (l *ledger) wordsPadding(n int) int {
	room := minWords
	if l.rows != nil {
		room = minSummed
	}
	return padding(n, room)
}

// appendBinary appends the canonical encoding of l and of the scheme `own`.
func (l *ledger) appendBinary(b []byte, own scheme) ([]byte, error) {
	le := binary.LittleEndian
	b = appendHeader(b, ledgerKind, ledgerVersion, l.id)
	b = append(b, l.origin[:]...)
	b = append(b, byte(l.scheme))
	b = le.AppendUint32(b, uint32(l.records))
	b = le.AppendUint32(b, uint32(l.live))
	b = le.AppendUint64(b, l.generation)
	b = le.AppendUint64(b, l.begun)
	b = append(b, l.contents[:]...)
	b = appendHistory(b, l.history)
	b = le.AppendUint16(b, feature.Version)
	b = le.AppendUint16(b, uint16(len(l.name)))
	b = append(append(b, l.name...), make([]byte, maxNameBytes-len(l.name))...)
	start := len(b)
	b = l.choices.append(appendWords(b, l.added))
	b, err := l.rows.AppendBinary(b)
	if err != nil {
		return nil, fmt.Errorf("writing ledger: %w", err)
	}
	b = append(b, make([]byte, l.wordsPadding(len(b)-start))...)
	b, err = own.AppendBinary(b)
	if err != nil {
		return nil, fmt.Errorf("writing ledger: %w", err)
	}
	return b, nil
}

func appendHeader(b []byte, kind byte, version uint16, id cpar.IndexID) []byte {
	b = append(b, ledgerMagic...)
	b = append(b, kind, 0)
	return append(binary.LittleEndian.AppendUint16(b, version), id[:]...)
}

// readHeader reads the beginning of a ledger or profile, up to the index id.
func readHeader(r *wire.Reader, what string, kind byte, oldest, newest uint16) (version uint16, id cpar.IndexID, err error) {
	magic, k, zero, version := r.Bytes(4, "magic"), r.U8("kind"), r.U8("reserved byte"), r.U16("version")
	switch {
	case string(magic) != ledgerMagic || k != kind || zero != 0:
		r.Fail("this is not a %s", what)
	case r.Err() == nil && (version < oldest || version > newest):
		return version, id, hint.Add(fmt.Errorf("%w: it has version %d, this program speaks version %d", cpar.ErrVersion, version, newest), hint.Rebuild)
	}
	copy(id[:], r.Bytes(len(id), "index id"))
	return version, id, r.Err()
}

func readLedger(r *wire.Reader) (*ledger, error) {
	version, id, err := readHeader(r, "ledger", ledgerKind, oldLedgerVersion, ledgerVersion)
	if err != nil {
		return nil, err
	}
	l := &ledger{id: id}
	copy(l.origin[:], r.Bytes(len(l.origin), "origin"))
	l.scheme = cpar.Scheme(r.U8("scheme"))
	l.records, l.live = int(r.U32("records")), int(r.U32("records that can be found"))
	l.generation, l.begun = r.U64("generation"), r.U64("first generation")
	copy(l.contents[:], r.Bytes(len(l.contents), "digest of contents"))
	l.history = readHistory(r, version)
	features := r.U16("version of features")
	switch _, known := schemes[l.scheme]; {
	case r.Err() != nil:
		return nil, r.Err()
	case features != feature.Version:
		return nil, hint.Add(fmt.Errorf("%w: its photos were analysed by version %d, this program has version %d", cpar.ErrVersion, features, feature.Version), hint.Rebuild)
	case l.live < 1 || l.live > l.records || !known || l.records < 1 || l.records > cpar.MaxRecords || l.begun == 0 || l.generation < l.begun:
		r.Fail("scheme %d, %d records, generation %d since %d", l.scheme, l.records, l.generation, l.begun)
		return nil, r.Err()
	}
	return l, l.readWords(r, version)
}

func (l *ledger) readWords(r *wire.Reader, version uint16) (err error) {
	name := r.U16("length of the name")
	l.name = string(r.Bytes(int(name), "name"))
	if r.Err() == nil && l.name != "" && CheckName(l.name) != nil {
		r.Fail("an invalid name")
	}
	r.Zeros(maxNameBytes-len(l.name), "padding of the name")
	before := r.Left()
	if l.added, err = readWords(r); err != nil {
		return err
	}
	if version >= choicesVersion {
		if l.choices, err = readChoices(r); err != nil {
			return err
		}
	}
	if version >= rowsVersion {
		if l.rows, err = wordvector.ReadSums(r); err != nil {
			return err
		}
	}
	r.Zeros(l.wordsPadding(before-r.Left()), "padding of the words")
	return r.Err()
}

func (l *ledger) addFitted(f fitted) (err error) {
	l.fitted = f
	if f.search != nil && l.rows.Dim() != f.search.Sums.Dim() || f.search == nil && l.rows != nil {
		return fmt.Errorf("%w: its profile and its ledger have different vectors of words", cpar.ErrCorrupt)
	}
	l.dict, err = f.keywords.With(l.added)
	return err
}

func (l *ledger) index(key *Key, random io.Reader) (*index.Index, error) {
	projector, err := l.profile.Projector(seed.Derive(key.secret, "projection", l.origin[:]))
	if err != nil {
		return nil, err
	}
	x := &index.Index{
		ID: l.id, Scheme: l.scheme, Records: l.records, Generation: l.generation,
		Profile: l.profile, Projector: projector, Key: key.secret,
	}
	x.Source = seed.NewSource(x.Secret("fresh"), random)
	x.Keywords = keyword.NewCipher(x.Secret("keywords"), l.id, l.dict)
	return x, nil
}

func encryptLedger(l *ledger, x *index.Index, own scheme) ([]byte, error) {
	plain, err := l.appendBinary(nil, own)
	if err != nil {
		return nil, err
	}
	l.digest = ledgerDigest(plain)
	nonce := seed.New(x.Fresh("ledger", sha256.Sum256(plain)))
	return aead.New(x.Secret("profile")).Seal(nil, nonce, plain, ledgerBinding(l.id)), nil
}

// decryptLedger treats a failure as a wrong key, because the caller has checked
// the segment's digest.
func decryptLedger(encrypted []byte, key *Key, id cpar.IndexID) ([]byte, error) {
	plain, err := aead.New(seed.Derive(key.secret, "profile", id[:])).Open(encrypted, ledgerBinding(id))
	if err != nil {
		return nil, fmt.Errorf("%w: the index was built with another key", cpar.ErrKey)
	}
	return plain, nil
}

// The labels are "profile", because they predate the name "ledger".
func ledgerBinding(id cpar.IndexID) []byte { return append([]byte("cpar/v1/profile"), id[:]...) }

func contentsOf(m *cpar.Manifest) [sha256.Size]byte {
	b := append([]byte("cpar/v1/contents"), m.ID[:]...)
	b = append(b, byte(m.Scheme))
	b = append(b, m.Shift, m.PlaneShift, m.Trees, m.OrderBytes, byte(m.Place))
	for _, x := range []uint32{m.Records, m.Dim, m.Fields, m.Planes, m.Lists, m.KeywordBytes} {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	for _, s := range m.Segments {
		if s.Kind == cpar.SegmentLedger {
			continue
		}
		b = append(b, byte(s.Kind))
		b = binary.LittleEndian.AppendUint64(b, s.Bytes)
		b = append(b, s.Digest[:]...)
	}
	return sha256.Sum256(b)
}

func ledgerDigest(plain []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte("cpar/v1/owner state"), plain...))
}

func (l *ledger) after() *ledger {
	next := *l
	next.generation++
	next.history = l.history.after(l.digest)
	return &next
}

// checkNonces rejects a generation in which the keyword key, which encrypts
// more messages than other keys, could have encrypted too many. It assumes that
// each generation under this id encrypted all pages and two messages for the
// tail. Copies restored from a backup are not counted.
func (l *ledger) checkNonces() error {
	hi, blocks := bits.Mul64(uint64(l.records/cpar.KeywordPageRecords+2), l.generation-l.begun+1)
	if hi == 0 && blocks <= aead.MaxMessages {
		return nil
	}
	return hint.Add(fmt.Errorf("%w: %d records in generation %d since %d have used up the key of their keywords", cpar.ErrInput, l.records, l.generation, l.begun),
		"compact the index first: that gives it new keys")
}
