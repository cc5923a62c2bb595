package cpar

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"testing"
)

func sealedBytes(k kind, id IndexID, body string) []byte {
	b := append([]byte(magic), byte(k), 0)
	b = binary.LittleEndian.AppendUint16(b, SealedVersion)
	return append(append(b, id[:]...), body...)
}

func sealedManifest(s Scheme) *Manifest {
	m := &Manifest{Scheme: s, ID: IndexID{7}, Records: 600, Dim: 5, KeywordBytes: KeywordPageBytes(16)}
	add := func(k SegmentKind, bytes uint64) {
		m.Segments = append(m.Segments, Segment{Kind: k, Bytes: bytes, Digest: Digest{byte(len(m.Segments))}})
	}
	unit := uint64(8000)
	if s == SchemeLocal {
		unit = LocalBlockBytes(m.Dim)
	}
	add(SegmentVectors, 18*unit)
	add(SegmentVectors, unit)
	add(SegmentKeywords, uint64(m.KeywordBytes))
	add(SegmentKeywords, uint64(m.KeywordBytes))
	add(SegmentKeywords, KeywordTailBytes(m.KeywordBytes))
	add(SegmentLedger, 1000)
	if s == SchemeSealed {
		add(SegmentParams, ParamsBytes)
		add(SegmentHints, 5000)
		add(SegmentHints, 300)
	}
	add(SegmentProfile, 3000)
	add(SegmentIdentities, identityOverhead+512*IdentityBytes)
	add(SegmentIdentities, identityOverhead+88*IdentityBytes)
	return m
}

func asCAPIA(m *Manifest) {
	m.Scheme, m.KeywordBytes = SchemeCAPIA, 92
	m.Segments = slices.Delete(m.Segments, 3, 5)
	m.Segments[0].Bytes, m.Segments[1].Bytes, m.Segments[2].Bytes = 40*500, 40*100, 600*92
}

func TestSealedRequestsAndReplies(t *testing.T) {
	id := IndexID{1, 2, 3}
	q := &Request{Index: id, Params: Params{Scheme: SchemeSealed, L: 10, Approx: 1000}, Opaque: sealedBytes(kindSealedRequest, id, "words")}
	// Only the sealed bytes are sent, not even L.
	if got := marshal(t, q); !bytes.Equal(got, q.Opaque) {
		t.Errorf("sent: %x", got)
	}
	got, err := DecodeRequest(q.Opaque)
	if want := (&Request{Index: id, Params: Params{Scheme: SchemeSealed}, Opaque: q.Opaque}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("request: %+v, %v", got, err)
	}
	a := &Reply{Index: id, Opaque: sealedBytes(kindSealedReply, id, "scores")}
	if got, err := DecodeReply(marshal(t, a)); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("reply: %+v, %v", got, err)
	}

	for name, q := range map[string]*Request{
		"no bytes":         {Index: id, Params: q.Params},
		"another index":    {Index: IndexID{9}, Params: q.Params, Opaque: q.Opaque},
		"a reply":          {Index: id, Params: q.Params, Opaque: a.Opaque},
		"header only":      {Index: id, Params: q.Params, Opaque: q.Opaque[:opaqueHeader]},
		"of scheme local":  {Index: id, Params: Params{Scheme: SchemeLocal, L: 1, Approx: 1}},
		"of another":       {Index: id, Params: Params{Scheme: SchemeCAPIA, L: 1, Approx: 1}, Opaque: q.Opaque},
		"of another, none": {Index: id, Params: Params{Scheme: SchemeCAPIA, L: 1, Approx: 1}, Opaque: []byte{}},
	} {
		if _, err := q.MarshalBinary(); err == nil {
			t.Errorf("request, %s: written", name)
		}
	}
	for _, s := range []Scheme{SchemeSealed, SchemeLocal} {
		plain := marshal(t, &Request{Params: Params{Scheme: SchemeCAPIA, L: 1, Approx: 1}})
		plain[24] = byte(s)
		if _, err := DecodeRequest(plain); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a request of scheme %v in the common encoding: %v", s, err)
		}
	}
}

func TestSealedManifests(t *testing.T) {
	for _, s := range []Scheme{SchemeSealed, SchemeLocal} {
		m := sealedManifest(s)
		got, err := DecodeManifest(marshal(t, m))
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%v: %+v, %v", s, got, err)
		}
		for _, asked := range schemes.All() {
			p := Params{Scheme: asked, L: 1, Approx: 1000}
			if got, want := m.Serves(p), asked == s && s == SchemeSealed; got != want {
				t.Errorf("an index of scheme %v serves %v: %v", s, asked, got)
			}
			for _, old := range []Scheme{SchemeCPAR, SchemeCAPIA} {
				if asked == s && (&Manifest{Scheme: old, Trees: 1}).Serves(p) {
					t.Errorf("an index of scheme %v serves %v", old, asked)
				}
			}
		}
		if p := m.DefaultParams(); p != (Params{Scheme: s, L: 10, Approx: 1000}) || p.Validate() != nil {
			t.Errorf("%v: default parameters %+v", s, p)
		}
		if err := (Params{Scheme: s, L: 10, Approx: 1000, Prune: true}).Validate(); !errors.Is(err, ErrInput) {
			t.Errorf("%v with pruning: %v", s, err)
		}
		if err := (Params{Scheme: s, L: 10, Approx: 1000, Search: SearchByRank}).Validate(); !errors.Is(err, ErrInput) {
			t.Errorf("%v by rank: %v", s, err)
		}
	}
	drop := func(k SegmentKind) func(*Manifest) {
		return func(m *Manifest) {
			m.Segments = slices.DeleteFunc(m.Segments, func(s Segment) bool { return s.Kind == k })
		}
	}
	for name, c := range map[string]struct {
		of    Scheme
		spoil func(*Manifest)
	}{
		"a shift":          {SchemeSealed, func(m *Manifest) { m.Shift = 1 }},
		"trees":            {SchemeSealed, func(m *Manifest) { m.Trees = 1 }},
		"lists":            {SchemeLocal, func(m *Manifest) { m.Lists = 1 }},
		"no hints":         {SchemeSealed, drop(SegmentHints)},
		"empty hints":      {SchemeSealed, func(m *Manifest) { m.Segments[7].Bytes = 0 }},
		"hints missing":    {SchemeSealed, func(m *Manifest) { m.Segments = slices.Delete(m.Segments, 8, 9) }},
		"too many hints":   {SchemeSealed, func(m *Manifest) { m.Segments = slices.Delete(m.Segments, 1, 2) }},
		"no parameters":    {SchemeSealed, drop(SegmentParams)},
		"long parameters":  {SchemeSealed, func(m *Manifest) { m.Segments[6].Bytes++ }},
		"no vectors":       {SchemeSealed, drop(SegmentVectors)},
		"half a word":      {SchemeSealed, func(m *Manifest) { m.Segments[0].Bytes += 4 }},
		"no ledger":        {SchemeLocal, drop(SegmentLedger)},
		"no profile":       {SchemeLocal, drop(SegmentProfile)},
		"two profiles":     {SchemeLocal, func(m *Manifest) { m.Segments[7].Kind, m.Segments[7].Bytes = SegmentProfile, 1 }},
		"no identities":    {SchemeLocal, drop(SegmentIdentities)},
		"an identity less": {SchemeLocal, func(m *Manifest) { m.Segments[7].Bytes -= IdentityBytes }},
		"an identity more": {SchemeSealed, func(m *Manifest) { m.Segments[10].Bytes += IdentityBytes }},
		"half an identity": {SchemeLocal, func(m *Manifest) { m.Segments[7].Bytes += 8 }},
		"identities of nobody": {SchemeLocal, func(m *Manifest) {
			m.Segments[8].Bytes, m.Segments[7].Bytes = identityOverhead, identityOverhead+600*IdentityBytes
		}},
		"identities too short": {SchemeLocal, func(m *Manifest) { m.Segments[8].Bytes = 3 }},
		"no keywords":          {SchemeLocal, drop(SegmentKeywords)},
		"a page less":          {SchemeLocal, func(m *Manifest) { m.Segments = slices.Delete(m.Segments, 2, 3) }},
		"a page more":          {SchemeSealed, func(m *Manifest) { m.Segments[2].Bytes *= 2 }},
		"no tail":              {SchemeSealed, func(m *Manifest) { m.Segments = slices.Delete(m.Segments, 4, 5) }},
		"a tail of a page":     {SchemeLocal, func(m *Manifest) { m.Segments[4].Bytes = uint64(m.KeywordBytes) }},
		"a longer tail":        {SchemeLocal, func(m *Manifest) { m.Segments[4].Bytes++ }},
		"a shorter tail":       {SchemeLocal, func(m *Manifest) { m.Segments[4].Bytes-- }},
		"the tail first":       {SchemeLocal, func(m *Manifest) { m.Segments[2], m.Segments[4] = m.Segments[4], m.Segments[2] }},
		"half a page":          {SchemeLocal, func(m *Manifest) { m.Segments[2].Bytes -= 4; m.Segments[3].Bytes += 4 }},
		"an empty page":        {SchemeLocal, func(m *Manifest) { m.Segments[2].Bytes, m.Segments[3].Bytes = 0, 2*m.Segments[3].Bytes }},
		"pages of any length": {SchemeLocal, func(m *Manifest) {
			m.KeywordBytes++
			m.Segments[2].Bytes, m.Segments[3].Bytes, m.Segments[4].Bytes = m.Segments[2].Bytes+1, m.Segments[3].Bytes+1, m.Segments[4].Bytes+1
		}},
		"pages of the blocks of other schemes": {SchemeLocal, func(m *Manifest) { m.KeywordBytes = 92 }},
		"half a block":                         {SchemeLocal, func(m *Manifest) { m.Segments[0].Bytes += 8 }},
		"too few blocks":                       {SchemeLocal, func(m *Manifest) { m.Segments = m.Segments[1:] }},
		"a block more":                         {SchemeLocal, func(m *Manifest) { m.Segments[1].Bytes *= 2 }},
		"more blocks than photos": {SchemeLocal, func(m *Manifest) {
			m.Records, m.Segments = 18, slices.Delete(m.Segments, 2, 4)
			m.Segments[5].Bytes, m.Segments[6].Bytes = identityOverhead+17*IdentityBytes, identityOverhead+IdentityBytes
		}},
		"local with parameters": {SchemeSealed, func(m *Manifest) { m.Scheme = SchemeLocal }},
		"capia with hints": {SchemeSealed, func(m *Manifest) {
			drop(SegmentIdentities)(m)
			drop(SegmentParams)(m)
			asCAPIA(m)
		}},
		"capia with identities": {SchemeLocal, func(m *Manifest) {
			asCAPIA(m)
		}},
	} {
		m := sealedManifest(c.of)
		c.spoil(m)
		if _, err := m.MarshalBinary(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}
