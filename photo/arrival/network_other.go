//go:build !linux && !darwin && !windows

package arrival

// Remote always reports that a folder must be polled, because network drives of
// this system are not recognised.
func Remote(string) bool { return true }
