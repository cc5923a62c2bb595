package main

import (
	"fmt"
	"os"
	"path/filepath"

	"cpar"
	"cpar/internal/sanitize"
)

// A library of 30,000 photos needs space for its journal and about thirty
// kilobytes of features per photo (device.DefaultLimit).
const (
	stateWants = 100_000_000
	cacheWants = 1_000_000_000
)

// checkFolder checks that a folder is writable and reports its size.
func (d *doctorFlags) checkFolder(check, path string, wants int64) {
	if path == "" {
		d.findings.Warn(check, "", "there is no folder; what could be kept is fetched again")
		return
	}
	f, err := "", os.MkdirAll(path, 0o700)
	if err == nil {
		f, err = os.MkdirTemp(path, "doctor-")
	}
	if err != nil {
		d.findings.Fail(check, "make room, or let yourself write there", fmt.Errorf("%w: %w", cpar.ErrStorage, err))
		return
	}
	os.Remove(f)
	var held uint64
	_ = filepath.WalkDir(path, func(_ string, e os.DirEntry, err error) error {
		if err != nil {
			return nil // skip unreadable entries
		}
		if info, err := e.Info(); err == nil && e.Type().IsRegular() {
			held += uint64(info.Size())
		}
		return nil
	})
	d.findings.OK(check, "%s holds %s", sanitize.Text(path), size(held))
	d.checkPrivate(check, path, "700")
	switch free, ok := d.free(path); {
	case !ok:
		d.findings.Warn("space", "", "the system does not say how much is free for the %s folder", check)
	case free < wants:
		d.findings.Warn("space", "make room where "+sanitize.Text(path)+" lies", "%s are free for the %s folder; it should be %s", size(uint64(max(free, 0))), check, size(uint64(wants)))
	default:
		d.findings.OK("space", "%s are free for the %s folder", size(uint64(free)), check)
	}
}
