package feature

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"cpar"
)

// A dirStore stores plaintext entries in a folder, to measure without a key:
//
//	DIR/ab/abcd…ef.features-5    "cparkept" · kind and name, each after its length (4 bytes) ·
//	                             value · CRC-32C of the preceding bytes (4)
//
// Numbers are little-endian. The file name consists of the first 32 bytes of
// the entry's name in hex, the kind, and up to 8 further bytes of the name in
// hex. Entries that are incomplete, or that another process is writing, fail
// the checksum and count as missing. The checksum does not protect against an
// attacker with write access. Files have mode 0600, folders 0700.
type dirStore struct{ dir string }

const (
	cacheMagic   = "cparkept"
	maxNameBytes = 32
)

// OpenCache opens a plaintext cache in a folder, creating it if necessary.
// Errors wrap cpar.ErrInput or cpar.ErrStorage.
func OpenCache(dir string) (*Cache, error) {
	if dir == "" {
		return nil, fmt.Errorf("opening feature cache: %w: no folder given", cpar.ErrInput)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening feature cache: %w: %w", cpar.ErrStorage, err)
	}
	return NewCache(dirStore{dir}), nil
}

type entry struct {
	path   string
	header []byte
}

func (f dirStore) entry(kind string, name []byte) entry {
	file := hex.EncodeToString(name[:min(len(name), maxNameBytes)]) + "." + strings.ReplaceAll(kind, " ", "-")
	if len(name) > maxNameBytes {
		file += "-" + hex.EncodeToString(name[maxNameBytes:min(len(name), maxNameBytes+8)])
	}
	header := []byte(cacheMagic)
	for _, part := range [][]byte{[]byte(kind), name} {
		header = append(binary.LittleEndian.AppendUint32(header, uint32(len(part))), part...)
	}
	return entry{filepath.Join(f.dir, file[:2], file), header}
}

func (f dirStore) Get(kind string, name []byte) ([]byte, bool) {
	e := f.entry(kind, name)
	b, err := os.ReadFile(e.path)
	if err != nil {
		return nil, false
	}
	return e.decode(b)
}

func (f dirStore) Put(kind string, name, value []byte) error {
	e := f.entry(kind, name)
	if err := os.MkdirAll(filepath.Dir(e.path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(e.path, e.encode(value), 0o600)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (e entry) encode(value []byte) []byte {
	b := append(bytes.Clone(e.header), value...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func (e entry) decode(b []byte) (value []byte, ok bool) {
	end := len(b) - 4
	if end < len(e.header) || !bytes.Equal(b[:len(e.header)], e.header) || crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, false
	}
	return b[len(e.header):end], true
}
