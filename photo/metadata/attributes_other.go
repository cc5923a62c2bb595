//go:build !linux && !darwin

package metadata

// copyAttributes does nothing on systems without extended attributes.
func copyAttributes(string, string) error { return nil }
