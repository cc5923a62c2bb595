package main

import (
	"sync"

	"cpar/user/device"
	"cpar/user/library"
)

// machine says which words in a photo's files annotate has put there on this device, so
// that an index never learns from itself. The key is asked for at the first photo; nil
// where annotate has written nothing here.
func (k *keyFlags) machine() func(path string) []string {
	if d, err := device.This(); err != nil || !library.Exists(d) {
		return nil
	}
	open := sync.OnceValue(func() *library.Library {
		l, err := openLibrary(k)
		if err != nil {
			return nil // whoever needs the key says so
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
