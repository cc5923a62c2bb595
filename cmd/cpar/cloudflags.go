package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/durable"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/user"
)

// cloudFlags name a cloud and, where it has several, an index there.
type cloudFlags struct{ url, index string }

func (f *cloudFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "cloud", os.Getenv("CPAR_CLOUD"), "`URL` of the cloud (default $CPAR_CLOUD)")
}

func (f *cloudFlags) client() (*cparhttp.Client, error) {
	if f.url == "" {
		return nil, hint.Add(exitcode.UsageError(errors.New("no cloud was named")), "pass --cloud http://127.0.0.1:8080, where cpard serves")
	}
	return cparhttp.New(f.url, nil)
}

// id is the index asked for, or the only one there.
func (f *cloudFlags) id(ctx context.Context, client *cparhttp.Client) (cpar.IndexID, error) {
	if f.index != "" {
		return cpar.ParseIndexID(f.index)
	}
	list, err := client.List(ctx)
	if err != nil {
		return cpar.IndexID{}, err
	}
	switch len(list) {
	case 1:
		return list[0].ID, nil
	case 0:
		return cpar.IndexID{}, hint.Add(fmt.Errorf("%w: the cloud at %s has no index", cpar.ErrInput, client.URL()), "push one with: cpar push INDEX --cloud %s", client.URL())
	}
	return cpar.IndexID{}, hint.Add(fmt.Errorf("%w: the cloud at %s has %d indexes", cpar.ErrInput, client.URL(), len(list)), "choose one with --index, for example --index %v", list[0].ID)
}

// openAt opens the index id at the cloud with a key alone: its profile, which
// only the key opens, lies there. A copy is kept, encrypted as it is.
func openAt(ctx context.Context, client *cparhttp.Client, key *user.Key, id cpar.IndexID) (*user.Owner, *cpar.Manifest, error) {
	m, err := client.Manifest(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	s, ok := m.Segment(cpar.SegmentProfile)
	if !ok {
		return nil, nil, fmt.Errorf("opening index %v: %w: it has no profile", id, cpar.ErrCorrupt)
	}
	sealed, err := cachedSegment(ctx, client, id, s)
	if err != nil {
		return nil, nil, err
	}
	o, err := user.Open(key, m, sealed)
	if err != nil {
		return nil, nil, hint.Add(err, "pass the key file it was built with")
	}
	return o, m, nil
}

func cachedSegment(ctx context.Context, client *cparhttp.Client, id cpar.IndexID, s cpar.Segment) ([]byte, error) {
	path := ""
	if dir, err := os.UserCacheDir(); err == nil {
		path = filepath.Join(dir, "cpar", "profiles", s.Digest.String())
		if b, err := os.ReadFile(path); err == nil && digestFits(b, s) {
			return b, nil
		}
	}
	var b bytes.Buffer
	if err := client.Segment(ctx, id, s, &b); err != nil {
		return nil, err
	}
	if path != "" {
		// A cache that cannot be written costs a download, nothing else.
		keepCopy(path, b.Bytes())
	}
	return b.Bytes(), nil
}

func digestFits(b []byte, s cpar.Segment) bool {
	return uint64(len(b)) == s.Bytes && sha256.Sum256(b) == s.Digest
}

func keepCopy(path string, b []byte) {
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = durable.WriteFile(path, b, 0o600)
	}
}
