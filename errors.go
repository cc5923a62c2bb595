package cpar

import "errors"

// The kinds of failure a caller can act on. Every error of this module that a
// person may see wraps one of them; commands map each to an exit code.
var (
	// ErrInput: an image, collection or parameter that cannot be used.
	ErrInput = errors.New("unusable input")
	// ErrKey: a wrong passphrase, or a key that does not fit the index.
	ErrKey = errors.New("wrong key")
	// ErrCorrupt: data of ours that is damaged, truncated or not ours at all.
	ErrCorrupt = errors.New("damaged data")
	// ErrVersion: data of ours in a format version this program does not speak.
	ErrVersion = errors.New("unknown format version")
	// ErrCloud: a cloud that cannot be reached or does not keep the protocol.
	ErrCloud = errors.New("cloud failure")
	// ErrStorage: a disk that is full or a folder that cannot be written.
	ErrStorage = errors.New("storage failure")
)
