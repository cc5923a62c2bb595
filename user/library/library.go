package library

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/localstore"
)

// A Library records, on one device, which photos were annotated with a key. It
// is safe for concurrent use, and several processes may share its folder.
type Library struct {
	journal *localstore.Journal[record]
	lock    string // path of the lock file
	keep    int64  // upper bound of the journal in bytes

	mu   sync.Mutex
	mem  *memory
	read int64 // bytes of the journal in mem, −1 to read it again
}

func Open(key *user.Key, d *device.Device) (*Library, error) {
	store, dir, err := d.Journals(key)
	if err != nil {
		return nil, err
	}
	journal, err := localstore.OpenJournal[record](store, "library")
	if err != nil {
		return nil, err
	}
	return &Library{journal: journal, lock: filepath.Join(dir, "lock"), keep: keepBytes}, nil
}

func (l *Library) refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	size, err := l.journal.Size()
	if err != nil || l.mem != nil && size == l.read {
		return err
	}
	m := newMemory()
	if _, err := l.journal.Read(m.take); err != nil {
		return err
	}
	l.mem, l.read = m, size
	return nil
}

// remember appends records to the journal, syncs it, and applies them to l.mem.
func (l *Library) remember(records ...record) error {
	if len(records) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, err := l.journal.Size()
	var grows int64
	if err == nil {
		grows, err = l.journal.Append(records...)
	}
	if err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	for i := range records {
		l.mem.take(&records[i])
	}
	after, err := l.journal.Size()
	if err != nil || before != l.read || after != before+grows {
		after = -1 // another process has appended, so read again
	}
	l.read = after
	return err
}

// lockShared registers this process as a writer of photos. If no other process
// holds the lock, lockShared first completes the runs of killed processes.
func (l *Library) lockShared() (release func(), err error) {
	lock := flock.New(l.lock, flock.SetPermissions(0o600))
	alone, err := lock.TryLock()
	if err == nil && alone {
		if err = l.refresh(); err == nil {
			err = l.settle()
		}
		if err == nil {
			err = l.bound()
		}
		if err == nil {
			err = lock.Unlock()
		}
	}
	if err == nil {
		err = lock.RLock()
	}
	if err == nil {
		err = l.refresh() // until release, no process calls settle or Forget
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("opening the journal: %w", storage(err))
	}
	return func() { lock.Close() }, nil
}

// lockExclusive fails while another process holds the lock.
func (l *Library) lockExclusive() (release func(), err error) {
	lock := flock.New(l.lock, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the journal: %w", storage(err))
	}
	if !ok {
		return nil, hint.Add(fmt.Errorf("locking the journal: %w: another cpar is annotating", cpar.ErrStorage), "wait until it has ended")
	}
	return func() { lock.Close() }, l.refresh()
}

func storage(err error) error {
	if errors.Is(err, cpar.ErrStorage) || errors.Is(err, cpar.ErrCorrupt) || errors.Is(err, cpar.ErrInput) {
		return err
	}
	return fmt.Errorf("%w: %w", cpar.ErrStorage, err)
}
