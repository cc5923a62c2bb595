package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// A dataset is a field of IPTC-NAA IIM: 0x1c, record, number, length, value.
type dataset struct {
	record, number byte
	raw, value     []byte
}

func newDataset(record, number byte, value string) dataset {
	raw := []byte{0x1c, record, number}
	raw = binary.BigEndian.AppendUint16(raw, uint16(len(value)))
	raw = append(raw, value...)
	return dataset{record, number, raw, raw[5:]}
}

type iim struct {
	sets    []dataset
	tail    []byte // padding
	utf8    bool   // dataset 1:90 declares UTF-8
	foreign bool   // dataset 1:90 declares another character set
}

// iimUTF8 is the ISO 2022 escape sequence for UTF-8.
const iimUTF8 = "\x1b%G"

// maxIPTC is the maximum length of a keyword in bytes (IIM 4.2).
const maxIPTC = 64

func parseIIM(b []byte) (*iim, error) {
	m := &iim{}
	for len(b) > 0 && b[0] == 0x1c { // padding often follows the last dataset
		if len(b) < 5 {
			return m, errTruncated
		}
		head := 5
		size := uint64(binary.BigEndian.Uint16(b[3:]))
		if size&0x8000 != 0 { // an extended dataset: the low bits give the length of the length
			n := int(size & 0x7fff)
			if n > 4 || n > len(b)-head {
				return m, errTruncated
			}
			size = 0
			for _, c := range b[head : head+n] {
				size = size<<8 | uint64(c)
			}
			head += n
		}
		if size > uint64(len(b)-head) {
			return m, errTruncated
		}
		end := head + int(size)
		m.sets = append(m.sets, dataset{b[1], b[2], b[:end:end], b[head:end:end]})
		if b[1] == 1 && b[2] == 90 {
			m.utf8 = string(b[head:end]) == iimUTF8
			m.foreign = !m.utf8 && end > head
		}
		b = b[end:]
	}
	m.tail = b
	return m, nil
}

func (m *iim) bytes() []byte {
	var out []byte
	for _, d := range m.sets {
		out = append(out, d.raw...)
	}
	return append(out, m.tail...)
}

func (d dataset) isKeyword() bool { return d.record == 2 && d.number == 25 }

// text decodes a value and ignores the declared character set, which programs
// often get wrong. The default is Latin-1, whose text beyond ASCII is hardly
// ever valid UTF-8.
func (m *iim) text(value []byte) string {
	if !utf8.Valid(value) {
		value, _ = charmap.Windows1252.NewDecoder().Bytes(value) // maps every byte
	}
	return string(value)
}

func (m *iim) keywords() []string {
	var words []string
	for _, d := range m.sets {
		if d.isKeyword() {
			words = append(words, m.text(d.value))
		}
	}
	return words
}

// append adds a keyword at the end. It returns false for keywords that are too
// long or outside the block's character set. Such keywords are written to XMP
// only.
func (m *iim) append(word string) bool {
	if len(m.sets) == 0 {
		m.sets = []dataset{newDataset(1, 90, iimUTF8), newDataset(2, 0, "\x00\x04")}
		m.utf8 = true
	}
	value, ok := m.encode(word)
	if !ok || len(value) > maxIPTC {
		return false
	}
	at, record := len(m.sets), byte(2)
	for i, d := range slices.Backward(m.sets) {
		if d.isKeyword() {
			at = i + 1
			break
		}
		if d.record > record || d.record == record && d.number > 25 {
			at = i
		}
	}
	m.sets = slices.Insert(m.sets, at, newDataset(2, 25, value))
	return true
}

// encode encodes a word in the block's character set. It switches to UTF-8 only
// if all old values keep their meaning.
func (m *iim) encode(word string) (string, bool) {
	switch {
	case m.utf8 || isASCII([]byte(word)):
		return word, true
	case m.foreign:
		return "", false
	}
	plain, valid := true, true
	for _, d := range m.sets {
		// Record 2 is text except for its version. Record 1 holds no text.
		if d.record == 2 && d.number > 0 {
			plain = plain && isASCII(d.value)
			valid = valid && utf8.Valid(d.value)
		}
	}
	switch {
	case plain:
		m.declare()
		return word, true
	case valid:
		return word, true
	}
	latin, err := charmap.Windows1252.NewEncoder().String(word)
	return latin, err == nil
}

func (m *iim) declare() {
	m.utf8 = true
	at := 0
	for at < len(m.sets) && m.sets[at].record == 1 && m.sets[at].number < 90 {
		at++
	}
	m.sets = slices.DeleteFunc(m.sets, func(d dataset) bool { return d.record == 1 && d.number == 90 })
	m.sets = slices.Insert(m.sets, at, newDataset(1, 90, iimUTF8))
}

func (m *iim) undeclare() {
	for _, d := range m.sets {
		if d.record == 2 && d.number > 0 && !isASCII(d.value) {
			return
		}
	}
	m.utf8 = false
	m.sets = slices.DeleteFunc(m.sets, func(d dataset) bool { return d.record == 1 && d.number == 90 })
}

func (m *iim) clear() {
	for _, d := range m.sets {
		if !(d.record == 1 && d.number == 90 || d.record == 2 && d.number == 0) {
			return
		}
	}
	m.sets, m.tail, m.utf8 = nil, nil, false
}

func (m *iim) remove(match func(string) bool) bool {
	before := len(m.sets)
	m.sets = slices.DeleteFunc(m.sets, func(d dataset) bool { return d.isKeyword() && match(m.text(d.value)) })
	return len(m.sets) < before
}

func isASCII(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= utf8.RuneSelf })
}

const (
	resourceIPTC   = 0x0404
	resourceDigest = 0x0425 // MD5 of the IPTC block, by which programs detect that only IPTC was edited
)

// A resource is a block of Photoshop: "8BIM", id, name, size, data. Name and
// data are padded to even length.
type resource struct {
	id        uint16
	raw, data []byte
}

func newResource(id uint16, data []byte) resource {
	raw := binary.BigEndian.AppendUint16([]byte("8BIM"), id)
	raw = append(raw, 0, 0) // an empty name
	raw = binary.BigEndian.AppendUint32(raw, uint32(len(data)))
	raw = append(raw, data...)
	if len(data)%2 == 1 {
		raw = append(raw, 0)
	}
	return resource{id, raw, data}
}

// parseResources splits resources. Result `tail` is the padding after the last
// resource. On error, parseResources returns the resources before the damage
// and the data of a truncated resource.
func parseResources(b []byte) (found []resource, tail []byte, err error) {
	for len(b) > 0 {
		if !bytes.HasPrefix(b, []byte("8BIM")) {
			if len(bytes.Trim(b, "\x00")) == 0 {
				return found, b, nil
			}
			return found, nil, errors.New("a Photoshop resource does not begin with 8BIM")
		}
		if len(b) < 7 {
			return found, nil, errTruncated
		}
		id := binary.BigEndian.Uint16(b[4:])
		head := 6 + (int(b[6])+2)&^1 + 4 // padded name with its length byte, then the size
		if len(b) < head {
			return found, nil, errTruncated
		}
		size := uint64(binary.BigEndian.Uint32(b[head-4:]))
		if size > uint64(len(b)-head) {
			return append(found, resource{id, b, b[head:]}), nil, errTruncated
		}
		end := head + int(size)
		padded := min(end+int(size%2), len(b))
		found = append(found, resource{id, b[:padded:padded], b[head:end:end]})
		b = b[padded:]
	}
	return found, nil, nil
}
