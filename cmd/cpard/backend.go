package main

import (
	"cpar/cloud/remote"
	"cpar/cloud/store"
)

// beside opens what a daemon may be serving: the object storage of --store, or the data
// folder.
func (o *options) openBackend() (store.Backend, error) {
	if o.Objects.Address != "" {
		return remote.OpenAddress(o.Objects.Address, o.Objects.Credentials, remote.Options{})
	}
	if err := needData(o.Data); err != nil {
		return nil, err
	}
	return store.OpenBeside(o.Data)
}
