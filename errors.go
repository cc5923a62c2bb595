package cpar

import "errors"

// The kinds of failure a caller can act on. Every error of this module that a user may
// see wraps one of them; commands map each to an exit code.
var (
	// ErrInput: an unusable image, collection or parameter.
	ErrInput = errors.New("unusable input")
	// ErrKey: a wrong passphrase, or a key that does not fit the index.
	ErrKey = errors.New("wrong key")
	// ErrCorrupt: data that is damaged, truncated or not ours at all.
	ErrCorrupt = errors.New("damaged data")
	// ErrVersion: our data, but in a format version this program cannot read.
	ErrVersion = errors.New("unknown format version")
	// ErrCloud: a cloud that cannot be reached or breaks the protocol.
	ErrCloud = errors.New("cloud failure")
	// ErrStorage: a full disk or an unwritable folder.
	ErrStorage = errors.New("storage failure")
)
