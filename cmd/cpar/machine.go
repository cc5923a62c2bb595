package main

import (
	"sync"

	"cpar/user/device"
	"cpar/user/library"
)

// machine returns the keywords in a photo's files that annotate wrote on this
// device, so that an index never learns from itself. It asks for the key at the
// first photo. It returns nil if annotate has written nothing here.
func (k *keyFlags) machine() func(path string) []string {
	if d, err := device.This(); err != nil || !d.HasJournals() {
		return nil
	}
	open := sync.OnceValue(func() *library.Library {
		l, err := openLibrary(k)
		if err != nil {
			return nil // commands that need the key report the error
		}
		return l
	})
	return func(path string) []string {
		if l := open(); l != nil {
			return l.Machine(path)
		}
		return nil
	}
}
