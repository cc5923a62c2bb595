package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
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

// id is the index that was named; zero where none was.
func (f *cloudFlags) id() (id cpar.IndexID, err error) {
	if f.index == "" {
		return id, nil
	}
	if id, err = cpar.ParseIndexID(f.index); err == nil && id == (cpar.IndexID{}) {
		err = fmt.Errorf("%w: --index %v names no index", cpar.ErrInput, id)
	}
	return id, err
}
