package localstore

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
	"cpar/user/internal/aead"
)

// A Log is an append-only file of encrypted records, which several processes
// may share.
//
//	batches: length (4) ‖ its CRC-32C (4) ‖ encrypted(records: length (4) ‖ record)
//
// If a crash cuts off the last batch, the batch is treated as never written. A
// damaged length hides all following batches. Append copies unreadable bytes
// to a file beside the log.
type Log struct {
	store *Store
	path  string
	bound []byte
}

// maxBatch, in bytes, bounds a read, because a damaged length may be large.
const maxBatch = 64 << 20

// Log opens a log by name. The first Append creates its file.
func (v *Store) Log(name string) (*Log, error) {
	d := v.names.Derive("log", []byte(name))
	dir := filepath.Join(v.dir, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening a log: %w: %w", cpar.ErrStorage, err)
	}
	return &Log{v, filepath.Join(dir, hex.EncodeToString(d[:])), binding("log", []byte(name))}, nil
}

// All yields the records in order. For a damaged batch before the last, it
// yields an error. It then continues, unless the batch's length is damaged.
func (l *Log) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(l.path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, l.failed("reading", err))
			return
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 1<<20)
		for {
			sealed, err := readBatch(r)
			if errors.Is(err, errLength) && !onlyZeros(r) {
				yield(nil, fmt.Errorf("reading a log: %w: %w", cpar.ErrCorrupt, err))
			}
			if err != nil {
				return // the end, or a truncated batch
			}
			plain, err := l.store.box.Open(sealed, l.bound)
			if err != nil {
				if _, end := r.Peek(1); end != nil {
					return
				}
				err = fmt.Errorf("reading a log: %w: %w", cpar.ErrCorrupt, err)
			}
			if !yieldBatch(plain, err, yield) {
				return
			}
		}
	}
}

func yieldBatch(plain []byte, err error, yield func([]byte, error) bool) bool {
	if err != nil {
		return yield(nil, err)
	}
	for len(plain) >= 4 {
		n := int(binary.LittleEndian.Uint32(plain))
		if !yield(plain[4:4+n:4+n], nil) { // authenticated, so the lengths are valid
			return false
		}
		plain = plain[4+n:]
	}
	return true
}

func readBatch(r io.Reader) ([]byte, error) {
	n, err := readLength(r)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, n)
	_, err = io.ReadFull(r, sealed)
	return sealed, err
}

const headSize = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errLength means that a length is damaged or was never written.
var errLength = errors.New("the length of a batch is damaged")

func readLength(r io.Reader) (int, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	n := int(binary.LittleEndian.Uint32(head[:]))
	if binary.LittleEndian.Uint32(head[4:]) != crc32.Checksum(head[:4], castagnoli) || n < aead.Overhead || n > maxBatch {
		return 0, errLength
	}
	return n, nil
}

// onlyZeros reports whether the rest of r is empty or all zeros, as after a crash.
func onlyZeros(r io.Reader) bool {
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		if len(bytes.Trim(buffer[:n], "\x00")) > 0 {
			return false
		}
		if err != nil {
			return true
		}
	}
}

// Append writes all records, or none, as one batch, and syncs the batch to disk.
func (l *Log) Append(records ...[]byte) error {
	batch := l.batch(records)
	if len(batch) > maxBatch {
		return fmt.Errorf("writing a log: %w: %d bytes at once", cpar.ErrInput, len(batch))
	}
	return l.locked(func() error {
		f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		end, damaged, err := l.end(f)
		if err == nil && damaged {
			err = l.keepTail(f, end)
		}
		if err == nil {
			err = f.Truncate(end)
		}
		if err == nil {
			_, err = f.WriteAt(batch, end)
		}
		if err == nil {
			err = f.Sync()
		}
		if err == nil && end == 0 {
			err = durable.OS.SyncDir(filepath.Dir(l.path))
		}
		return err
	})
}

func (l *Log) batch(records [][]byte) []byte {
	var plain []byte
	for _, r := range records {
		plain = binary.LittleEndian.AppendUint32(plain, uint32(len(r)))
		plain = append(plain, r...)
	}
	sealed := l.store.seal(plain, l.bound)
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(sealed)))
	head = binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
	return append(head, sealed...)
}

// end returns the end of the last whole batch. Result `damaged` reports later
// damage that a crash does not explain. end decrypts only the last batch.
func (l *Log) end(f *os.File) (at int64, damaged bool, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return 0, false, err
	}
	last := int64(0)
	for at < size {
		n, err := readLength(io.NewSectionReader(f, at, size-at))
		if errors.Is(err, errLength) {
			return at, !onlyZeros(io.NewSectionReader(f, at, size-at)), nil
		}
		if err != nil || at+headSize+int64(n) > size {
			return at, false, nil
		}
		last, at = at, at+headSize+int64(n)
	}
	sealed, err := readBatch(io.NewSectionReader(f, last, size-last))
	if err != nil {
		return 0, false, err
	}
	if _, err := l.store.box.Open(sealed, l.bound); err != nil {
		return last, true, nil
	}
	return at, false, nil
}

// keepTail copies the damaged bytes that Append is about to cut off, for manual
// recovery.
func (l *Log) keepTail(f *os.File, end int64) error {
	to, err := os.CreateTemp(filepath.Dir(l.path), filepath.Base(l.path)+".damaged-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(f, end, 1<<62))
	return errors.Join(err, to.Sync(), to.Close())
}

func (l *Log) Replace(records [][]byte) error {
	return l.locked(func() error {
		var all []byte
		for _, r := range records {
			all = append(all, l.batch([][]byte{r})...)
		}
		return durable.WriteFile(l.path, all, 0o600)
	})
}

func (l *Log) locked(work func() error) error {
	lock := flock.New(l.path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return l.failed("locking", err)
	}
	defer lock.Close()
	if err := work(); err != nil {
		return l.failed("writing", err)
	}
	return nil
}

func (l *Log) failed(what string, err error) error {
	return fmt.Errorf("%s a log: %w: %w", what, cpar.ErrStorage, err)
}

func (l *Log) Size() (int64, error) {
	info, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, l.failed("looking at", err)
	}
	return info.Size(), nil
}
