package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/model/feature"
	"cpar/user"
	"cpar/user/device"
	"cpar/user/localstore"
)

// cacheFlags select where features are kept between runs.
type cacheFlags struct {
	folder string
	limit  int
}

// noCache is the folder name that turns the cache off.
const noCache = "none"

func (f *cacheFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.folder, "cache", "", "keep features unencrypted in this `folder` instead of encrypted in your cache folder, or none to keep nothing")
	c.Flags().IntVar(&f.limit, "cache-limit", device.DefaultLimit>>30, "maximum size of the encrypted cache in `GB`")
}

func (f *cacheFlags) check() error {
	if f.limit < 1 || f.limit > 1<<20 {
		return hint.Add(fmt.Errorf("%w: --cache-limit %d", cpar.ErrInput, f.limit), "a number of GB; --cache none keeps nothing")
	}
	return nil
}

// addAsking adds the flags to a command that searches an index.
func (f *cacheFlags) addAsking(c *cobra.Command) {
	f.add(c)
	c.Flags().Lookup("cache").Usage += "and fetch the index data each time"
}

// opening applies the flags to an index being opened. Without a cache it also
// keeps no copies of the cloud's segments, whose sizes and times reveal when
// this machine searched.
func (f *cacheFlags) opening(d *device.Device, key *user.Key, o *device.OpenOptions) (err error) {
	switch f.folder {
	case noCache:
		d.Cache = ""
	case "":
		// Searching without a feature cache is only slower.
		o.Cache, _ = d.Features(key, int64(f.limit)<<30)
	default:
		o.Cache, err = f.open(d, key)
	}
	return err
}

// localStore returns the encrypted store of recomputable data, or nil.
func (f *cacheFlags) localStore(d *device.Device, key *user.Key) (*localstore.Store, error) {
	if f.folder != "" || key == nil {
		return nil, nil
	}
	return d.LocalStore(key, int64(f.limit)<<30)
}

func (f *cacheFlags) open(d *device.Device, key *user.Key) (*feature.Cache, error) {
	switch f.folder {
	case noCache:
		return nil, nil
	case "":
		v, err := f.localStore(d, key)
		if v == nil || err != nil {
			return nil, hint.Add(err, "pass --cache none to keep nothing")
		}
		return feature.NewCache(v), nil
	}
	c, err := feature.OpenCache(f.folder)
	return c, hint.Add(err, "pass --cache FOLDER, or --cache none")
}
