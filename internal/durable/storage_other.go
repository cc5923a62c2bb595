//go:build !linux && !darwin && !freebsd && !windows

package durable

func isFull(error) bool { return false }

func isExhausted(error) bool { return false }

func FreeBytes(string) (int64, bool) { return 0, false }
