package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/device"
)

// cloudFlags name a cloud and, where it has several, an index there.
type cloudFlags struct{ url, index string }

func (f *cloudFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "cloud", "", "`URL` of the cloud (default $CPAR_CLOUD)")
}

func (f *cloudFlags) client() (*cparhttp.Client, error) {
	if f.url == "" {
		return nil, hint.Add(exitcode.UsageError(errors.New("no cloud was named")), "pass --cloud http://127.0.0.1:8080 (where cpard serves)")
	}
	return cparhttp.New(f.url, nil)
}

// addIndex adds --index, for commands that ask one.
func (f *cloudFlags) addIndex(c *cobra.Command) {
	c.Flags().StringVar(&f.index, "index", "", "`name` or id of the index at the cloud, where it has several")
}

// opening says which index was named, if any.
func (f *cloudFlags) opening() (o device.OpenOptions, err error) {
	if f.index != "" {
		o.Index, o.Name, err = nameOrID(f.index)
	}
	return o, err
}

// nameOrID is what names an index at a cloud: its id, or the name that only the key reads.
func nameOrID(text string) (id cpar.IndexID, name string, err error) {
	if id, err = cpar.ParseIndexID(text); err != nil {
		return id, text, user.CheckName(text)
	}
	if id == (cpar.IndexID{}) {
		err = fmt.Errorf("%w: %v names no index", cpar.ErrInput, id)
	}
	return id, "", err
}
