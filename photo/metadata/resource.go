package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// The image resources of Photoshop that matter here.
const (
	resourceIPTC   = 0x0404
	resourceDigest = 0x0425 // MD5 of the IPTC block, by which readers see that it was edited alone
)

// A resource of Photoshop: "8BIM" id name size data. Name and data are padded to even
// length.
type resource struct {
	id        uint16
	raw, data []byte
}

func newResource(id uint16, data []byte) resource {
	raw := binary.BigEndian.AppendUint16([]byte("8BIM"), id)
	raw = append(raw, 0, 0) // no name
	raw = binary.BigEndian.AppendUint32(raw, uint32(len(data)))
	raw = append(raw, data...)
	if len(data)%2 == 1 {
		raw = append(raw, 0)
	}
	return resource{id, raw, data}
}

// parseResources splits resources; tail is padding after the last. On error, those before
// the damage are there, and the data of one that is cut short.
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
		head := 6 + (int(b[6])+2)&^1 + 4 // the name and its length byte, padded; the size
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
