package main

import (
	"cpar/cloud/remote"
	"cpar/cloud/store"
)

// openBackend opens the object storage of --store, or otherwise the data folder.
// A server may be using either.
func (o *options) openBackend() (store.Backend, error) {
	if o.Objects.Address != "" {
		return remote.OpenAddress(o.Objects.Address, o.Objects.Credentials, remote.Options{})
	}
	if err := needData(o.Data); err != nil {
		return nil, err
	}
	return store.OpenBeside(o.Data)
}

func (o *options) withBackend(f func(store.Backend) error) error {
	b, err := o.openBackend()
	if err != nil {
		return err
	}
	defer b.Close()
	return f(b)
}
