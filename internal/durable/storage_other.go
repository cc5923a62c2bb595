//go:build !linux && !darwin && !freebsd && !windows

package durable

func isFull(error) bool { return false }

func isExhausted(error) bool { return false }

// FreeBytes returns the room that this process could use in a folder's file system, where
// the system says so.
func FreeBytes(string) (int64, bool) { return 0, false }
