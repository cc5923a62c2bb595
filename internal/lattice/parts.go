package lattice

import (
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// Parts are the parts of an index, of one ring and block width. Every record is first in
// the open part, a row for each. Where records were divided into clusters they are in the
// clustered part, C in a row, of which a request asks one; what was added since is in the
// open part.
//
//	parameters   those of the clustered part (36)  its records (4)     where there is one
//	             those of the open part (36)
//	request      words of the clustered part, then of the open part; of those that have groups
//	reply        the same
type Sections struct {
	Open Params
	// Clustered is nil where there is none. Records are those in it.
	Clustered *Params
	Records   int
}

// CellSize is the number of rows of n records in so many clusters: every record has 1.72 places
// on average, the most for which a request to a million in eight clusters and its reply
// have less than 1.6 MB. It depends on nothing else.
func CellSize(n, clusters int) int { return min(n, (43*n+25*clusters-1)/(25*clusters)) }

// Rows is the number of rows of the clustered part.
func (p Sections) Rows() int {
	if p.Clustered == nil {
		return 0
	}
	return CellSize(p.Records, p.Clustered.Slots())
}

// Validate refuses parts that do not fit together. Errors wrap cpar.ErrInput.
func (p Sections) Validate() error {
	if err := p.Open.Validate(); err != nil || p.Clustered == nil {
		return err
	}
	if err := p.Clustered.Validate(); err != nil {
		return err
	}
	switch c := p.Clustered; {
	case p.Open.LogSlots != 0 || c.LogSlots == 0 || c.LogN != p.Open.LogN || c.Block != p.Open.Block:
		return refuse("a clustered part with rows of %d records, %d in the other", c.Slots(), p.Open.Slots())
	case p.Records < c.Slots() || p.Records > cpar.MaxRecords:
		return refuse("%d records in %d clusters", p.Records, c.Slots())
	}
	return nil
}

// AppendBinary appends the canonical encoding of p.
func (p Sections) AppendBinary(b []byte) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("writing sealed parameters: %w", err)
	}
	if p.Clustered != nil {
		var err error
		if b, err = p.Clustered.AppendBinary(b); err != nil {
			return nil, err
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(p.Records))
	}
	return p.Open.AppendBinary(b)
}

// SectionsSize is the length of encoded Parts with a clustered one; without, it is ParamsSize.
const SectionsSize = ParamsSize + 4 + ParamsSize

// DecodeSections reads the output of AppendBinary and validates it. Errors wrap cpar.ErrCorrupt.
func DecodeSections(b []byte) (p Sections, err error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	if p, err = ReadSections(r); err != nil {
		return Sections{}, err
	}
	return p, r.Close()
}

// ReadSections is DecodeSections where more follows: the first parameters tell whether there is a
// clustered part.
func ReadSections(r *wire.Reader) (p Sections, err error) {
	if p.Open, err = readParams(r); err != nil {
		return p, err
	}
	if p.Open.LogSlots > 0 {
		clustered := p.Open
		p.Clustered, p.Records = &clustered, int(r.U32("records in clusters"))
		if p.Open, err = readParams(r); err != nil {
			return p, err
		}
	}
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("reading sealed parameters: %w: %v", cpar.ErrCorrupt, err)
	}
	return p, nil
}

func readParams(r *wire.Reader) (Params, error) {
	b := r.Bytes(ParamsSize, "parameters")
	if r.Err() != nil {
		return Params{}, fmt.Errorf("reading sealed parameters: %w", r.Err())
	}
	return DecodeParams(b)
}
