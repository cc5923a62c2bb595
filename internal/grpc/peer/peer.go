// Package peer exists because go mod tidy looks for it.
package peer
