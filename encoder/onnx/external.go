package onnx

import (
	"errors"
	"fmt"
	"strconv"

	"cpar/internal/hint"
)

type location struct {
	file           string
	offset, length int64
	hasLength      bool
}

const maxEntries = 16 // of external_data

// entry reads a StringStringEntryProto of external_data.
func (l *location) entry(b []byte) error {
	key, value, err := textPair(b)
	if err != nil {
		return err
	}
	switch key {
	case "location":
		l.file = value
	case "offset":
		l.offset, err = number(key, value)
	case "length":
		l.length, err = number(key, value)
		l.hasLength = true
	}
	return err // "checksum" is ignored
}

func number(key, value string) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("its %s in another file is %.40q", key, value)
	}
	return n, nil
}

var errExternalData = errors.New("its data are in another file")

// find returns size bytes of the file, or the entry's length if size is
// negative.
func (l *location) find(size int64, external func(name string) ([]byte, error)) ([]byte, error) {
	if external == nil {
		return nil, hint.Add(errExternalData, "save the model as one file")
	}
	if l.file == "" {
		return nil, fmt.Errorf("%w, but that file is not named", errExternalData)
	}
	data, err := external(l.file)
	if err != nil {
		return nil, err
	}
	rest := int64(len(data)) - l.offset
	if rest < 0 {
		return nil, fmt.Errorf("its data begin at byte %d of %.80q, which has %d", l.offset, l.file, len(data))
	}
	if !l.hasLength {
		l.length = rest
		if size >= 0 {
			l.length = min(size, rest)
		}
	}
	if l.length > rest {
		return nil, fmt.Errorf("its data end at byte %d+%d of %.80q, which has %d", l.offset, l.length, l.file, len(data))
	}
	if size >= 0 && l.length != size {
		return nil, fmt.Errorf("%d bytes of data in %.80q where its shape asks for %d", l.length, l.file, size)
	}
	return data[l.offset:][:l.length], nil
}
