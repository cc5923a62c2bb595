//go:build !linux && !darwin && !windows

package arrival

// Remote reports whether a folder must be polled, always, because this system's
// network drives are not recognised.
func Remote(string) bool { return true }
