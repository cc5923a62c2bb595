//go:build !linux && !darwin

package metadata

// copyAttributes does nothing where files have no such attributes.
func copyAttributes(string, string) error { return nil }
