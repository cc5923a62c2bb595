// Package metadata exists because go mod tidy looks for it.
package metadata
