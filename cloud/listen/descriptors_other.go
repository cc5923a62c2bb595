//go:build !unix

package listen

// Descriptors is how many files the system lets this process have open; 0 means that it does
// not say.
func Descriptors() int { return 0 }
