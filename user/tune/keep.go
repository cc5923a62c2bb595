package tune

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"cpar"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/model/rank"
	"cpar/user"
	"cpar/user/internal/index"
)

// keptKind must change when the encoding or the results of Tune change.
var keptKind = fmt.Sprintf("tuning 3, features %d", feature.Version)

// nameOf returns a digest of all inputs of a Tuning, or false if photos are not
// identified by content.
func nameOf(images []user.Photo, opt Options) (name []byte, ok bool) {
	d := index.NewDigest()
	index.Add(d, []byte(fmt.Sprint(cmp.Or(opt.PCA, profile.DefaultPCA))))
	for _, im := range images {
		if im.Content == [32]byte{} {
			return nil, false
		}
		index.Add(d, im.Content[:])
		if e := im.Vectors.Embedding; e != nil {
			index.Add(d, e.Network[:])
		}
		index.Add(d, []int64{int64(len(im.Keywords))})
		for _, w := range im.Keywords {
			index.Add(d, []byte(w))
		}
	}
	sum := d.Sum()
	return sum[:], true
}

func read(k user.Memo, name []byte) *Tuning {
	if k == nil || name == nil {
		return nil
	}
	if b, ok := k.Get(keptKind, name); ok {
		if t, err := decodeTuning(b); err == nil {
			return t
		}
	}
	return nil
}

func (t *Tuning) write(k user.Memo, name []byte) {
	if k == nil {
		return
	}
	if b, err := t.encode(); err == nil {
		_ = k.Put(keptKind, name, b) // if this fails, the next call runs Tune again
	}
}

// encode encodes a Tuning as JSON, followed by each fitted profile with its ranker.
func (t *Tuning) encode() ([]byte, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.fits)))
	for _, kind := range profile.Kinds() { // in the order of the constants
		fit := t.fits[kind]
		if fit == nil {
			continue
		}
		if b, err = profile.Append(b, fit.Profile); err != nil {
			return nil, err
		}
		if b, err = wire.AppendEncoded(b, fit.Ranker); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// decodeTuning inverts encode. Samples are not stored.
func decodeTuning(b []byte) (*Tuning, error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	t := &Tuning{fits: map[profile.Kind]*profile.Fitted{}}
	text := r.Bytes(r.Count(1, "bytes of JSON"), "JSON")
	if r.Err() != nil {
		return nil, r.Err()
	}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, err
	}
	for n := r.Count(1, "profiles"); n > 0 && r.Err() == nil; n-- {
		p, err := profile.Read(r)
		if err == nil {
			err = p.Validate()
		}
		if err != nil {
			return nil, err
		}
		fit := &profile.Fitted{Profile: p, Ranker: new(rank.Calibrated)}
		if err := r.Encoded("ranker", fit.Ranker); err != nil {
			return nil, err
		}
		t.fits[p.Kind()] = fit
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	known := slices.ContainsFunc(t.Rows, func(row Row) bool { return row.Profile == t.Recommended.Profile && row.Ranker == t.Recommended.Ranker })
	if !known || t.fits[t.Recommended.Profile] == nil {
		return nil, fmt.Errorf("%w: it recommends a profile that it has not tried", cpar.ErrCorrupt)
	}
	return t, nil
}
