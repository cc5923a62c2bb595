package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/user/device"
)

// A watchState is the state of a running cpar watch, in a file that cpar doctor
// reads. It contains no names of photos and no keywords.
type watchState struct {
	Folders []string  `json:"folders"`
	Began   time.Time `json:"began"`
	Photos  int       `json:"photos"` // number of photos annotated since Began
	Waiting int       `json:"waiting"`
	Failed  int       `json:"failed"` // number of failures among the last photos
	Last    time.Time `json:"last,omitzero"`
	Rests   string    `json:"rests,omitempty"` // reason why photos wait, or ""
	Problem string    `json:"problem,omitempty"`
}

// A watchStatus writes the state to a file. It holds a lock that prevents a
// second watch of the same folders. A process that is killed loses the lock but
// leaves the file.
type watchStatus struct {
	path string
	lock *flock.Flock

	mu    sync.Mutex
	state watchState
}

func watchFolder(this *device.Device) string { return filepath.Join(this.State, "watch") }

func openWatchStatus(this *device.Device, folders []string) (*watchStatus, error) {
	s := &watchStatus{state: watchState{Began: time.Now()}}
	for _, folder := range folders {
		abs, err := filepath.Abs(folder)
		if err != nil {
			return nil, fmt.Errorf("finding the folder: %w: %w", cpar.ErrInput, err)
		}
		s.state.Folders = append(s.state.Folders, abs)
	}
	d := sha256.Sum256([]byte(strings.Join(s.state.Folders, "\x00")))
	s.path = filepath.Join(watchFolder(this), fmt.Sprintf("%x.json", d[:8]))
	err := os.MkdirAll(watchFolder(this), 0o700)
	if err == nil {
		s.lock = flock.New(s.path+".lock", flock.SetPermissions(0o600))
		var free bool
		if free, err = s.lock.TryLock(); err == nil && !free {
			return nil, hint.Add(fmt.Errorf("starting: %w: another cpar watch is watching the same folders", cpar.ErrInput), "cpar doctor shows its state")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("starting: %w: %w", cpar.ErrStorage, err)
	}
	s.set(func(*watchState) {})
	return s, nil
}

// set changes the state. The watch continues even if the state cannot be
// written.
func (s *watchStatus) set(change func(*watchState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
	if b, err := json.Marshal(s.state); err == nil {
		_ = durable.WriteFile(s.path, b, 0o600)
	}
}

// close removes the file unless an error ended the watch.
func (s *watchStatus) close(err error) {
	if err != nil {
		s.set(func(w *watchState) { w.Problem = err.Error() })
	} else {
		os.Remove(s.path) // but keep the lock file, which another process may have opened
	}
	s.lock.Close()
}

func (d *doctorFlags) checkWatches(this *device.Device) {
	files, _ := filepath.Glob(filepath.Join(watchFolder(this), "*.json"))
	for _, file := range files {
		var s watchState
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &s)
		}
		if errors.Is(err, os.ErrNotExist) {
			continue // that watch has just ended
		}
		folders := sanitize.Text(strings.Join(s.Folders, ", "))
		lock := flock.New(file + ".lock")
		free, lockErr := lock.TryRLock()
		lock.Close()
		says := fmt.Sprintf("%s: %s annotated since %s, %d waiting", folders, photosOf(s.Photos), s.Began.Local().Format("2006-01-02 15:04"), s.Waiting)
		if !s.Last.IsZero() {
			says += ", the last at " + s.Last.Local().Format("2006-01-02 15:04")
		}
		switch {
		case err != nil || lockErr != nil:
			d.findings.Warn("watch", "", "its state cannot be read: %s", sanitize.Text(errors.Join(err, lockErr).Error()))
		case free:
			s.Problem = cmp.Or(s.Problem, "it was killed, or the machine was switched off")
			d.findings.Warn("watch", "start cpar watch again, or remove "+sanitize.Text(file), "%s; it does not run: %s", says, sanitize.Text(s.Problem))
		case s.Problem != "":
			d.findings.Warn("watch", "", "%s; it will try again: %s", says, sanitize.Text(s.Problem))
		case s.Rests != "":
			d.findings.OK("watch", "%s; it %s", says, s.Rests)
		default:
			d.findings.OK("watch", "%s", says)
		}
	}
}
