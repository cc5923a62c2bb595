package decode

import "bytes"

// Truncated reports whether a JPEG file ends before its picture does, as copies do that were
// interrupted. What is there may be a picture all the same. It decodes nothing.
func Truncated(data []byte) bool {
	if !bytes.HasPrefix(data, []byte("\xff\xd8\xff")) {
		return false
	}
	end := 2 // of the last segment before the scan: a preview in one has an end of its own
	for s := range jpegSegments(data) {
		end = s.end
	}
	return !bytes.Contains(data[end:], []byte("\xff\xd9"))
}
