package repository

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"cpar/internal/durable"
)

// strays records when this device first saw each unpinned blob. Either another
// device is about to commit the blob, or the run that wrote it was killed. If the
// record is lost, such blobs are merely kept longer.
type strays struct {
	mu   sync.Mutex
	file string
	now  func() time.Time
	seen map[string]int64
	// used marks the entries that this process has looked up.
	used map[string]bool
}

func readStrays(file string, now func() time.Time) (*strays, error) {
	s := &strays{file: file, now: now, seen: map[string]int64{}, used: map[string]bool{}}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil && json.Unmarshal(b, &s.seen) != nil {
		s.seen = map[string]int64{}
	}
	return s, err
}

func (s *strays) since(name string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.seen[name]
	if !ok {
		at = s.now().Unix()
		s.seen[name] = at
	}
	s.used[name] = true
	return time.Unix(at, 0)
}

// write stores the record. If `whole` is set, because this process has listed all
// blobs, write drops unused entries.
func (s *strays) write(whole bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if whole {
		for name := range s.seen {
			if !s.used[name] {
				delete(s.seen, name)
			}
		}
	}
	b, err := json.Marshal(s.seen)
	if err != nil {
		return err
	}
	return durable.WriteFile(s.file, b, 0o600)
}
