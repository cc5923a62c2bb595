package durable

import (
	"errors"
	"math"

	"golang.org/x/sys/windows"
)

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

func isExhausted(err error) bool { return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES) }

func FreeBytes(folder string) (int64, bool) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, false
	}
	var free, all, total uint64
	if windows.GetDiskFreeSpaceEx(name, &free, &all, &total) != nil {
		return 0, false
	}
	return int64(min(free, math.MaxInt64)), true
}
