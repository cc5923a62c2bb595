package lattice

import (
	"encoding/binary"
	"fmt"

	"cpar"
	"cpar/internal/wire"
)

// Sections describes the two sections of an index, which share the ring and the
// block width. New records enter the open section, one per row. The records
// that are divided into cells (hidden clusters) form the clustered section. Its
// rows hold C records, one of each cell, and a request selects one cell. Later
// records stay in the open section.
//
//	parameters   clustered section (36)  its records (4)     if there is one
//	             open section (36)
//	request      words of the clustered section, then the open one, if they have groups
//	reply        the same
type Sections struct {
	Open Params
	// Clustered is nil without a clustered section. Records counts its records.
	Clustered *Params
	Records   int
	// Wide is set if cells have more slots (CellSize).
	Wide bool
}

// wideFlag marks wide cells in the number of records.
const wideFlag = 1 << 31

// WideSlots is log₂ of the number of cells that new indexes make wide.
const WideSlots = 2

// CellSize returns the number of rows for n records in the given number of
// cells. The cells have 1.72 slots per record. With more, a request to a million
// records in eight cells and its reply would exceed 1.6 MB. Wide cells have 2.2
// slots per record. With more, a request to 100,000 records in four cells and
// its reply would exceed 0.5 MB. The result depends only on the arguments, so it
// reveals nothing.
func CellSize(n, clusters int, wide bool) int {
	slots := 172
	if wide {
		slots = 220
	}
	return min(n, (slots*n+100*clusters-1)/(100*clusters))
}

// Rows returns the number of rows of the clustered section.
func (p Sections) Rows() int {
	if p.Clustered == nil {
		return 0
	}
	return CellSize(p.Records, p.Clustered.Slots(), p.Wide)
}

// Validate rejects sections that do not fit together. Errors wrap
// cpar.ErrInput.
func (p Sections) Validate() error {
	if err := p.Open.Validate(); err != nil || p.Clustered == nil {
		return err
	}
	if err := p.Clustered.Validate(); err != nil {
		return err
	}
	switch c := p.Clustered; {
	case p.Open.LogSlots != 0 || c.LogSlots == 0 || c.LogN != p.Open.LogN || c.Block != p.Open.Block:
		return refuse("a clustered section with rows of %d records, and an open one with rows of %d", c.Slots(), p.Open.Slots())
	case p.Records < c.Slots() || p.Records > cpar.MaxRecords:
		return refuse("%d records in %d clusters", p.Records, c.Slots())
	}
	return nil
}

func (p Sections) AppendBinary(b []byte) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("writing sealed parameters: %w", err)
	}
	if p.Clustered != nil {
		var err error
		if b, err = p.Clustered.AppendBinary(b); err != nil {
			return nil, err
		}
		records := uint32(p.Records)
		if p.Wide {
			records |= wideFlag
		}
		b = binary.LittleEndian.AppendUint32(b, records)
	}
	return p.Open.AppendBinary(b)
}

// SectionsSize is the encoded length with a clustered section. Without one, the
// length is ParamsSize.
const SectionsSize = ParamsSize + 4 + ParamsSize

// DecodeSections decodes and validates the output of AppendBinary. Errors wrap
// cpar.ErrCorrupt.
func DecodeSections(b []byte) (p Sections, err error) {
	r := wire.NewReader(b, cpar.ErrCorrupt)
	if p, err = ReadSections(r); err != nil {
		return Sections{}, err
	}
	return p, r.Close()
}

// ReadSections decodes sections from r. First parameters with several slots
// describe a clustered section.
func ReadSections(r *wire.Reader) (p Sections, err error) {
	if p.Open, err = readParams(r); err != nil {
		return p, err
	}
	if p.Open.LogSlots > 0 {
		clustered := p.Open
		records := r.U32("records in clusters")
		p.Clustered, p.Records, p.Wide = &clustered, int(records&^wideFlag), records&wideFlag != 0
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
