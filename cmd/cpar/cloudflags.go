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
		return nil, hint.Add(exitcode.UsageError(errors.New("no cloud was named")), "pass --cloud http://127.0.0.1:8080 (where cpard serves)")
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
	s, ok := m.Segment(cpar.SegmentLedger)
	if !ok || s.Bytes > maxProfileBytes {
		return nil, nil, fmt.Errorf("opening index %v: %w: it has no profile, or one of %d bytes", id, cpar.ErrCorrupt, s.Bytes)
	}
	copied := profileCopy(id)
	sealed, err := os.ReadFile(copied)
	fresh := err != nil || uint64(len(sealed)) != s.Bytes || sha256.Sum256(sealed) != s.Digest
	if fresh {
		var b bytes.Buffer
		if err := client.Segment(ctx, id, s, &b); err != nil {
			return nil, nil, err
		}
		sealed = b.Bytes()
	}
	o, err := user.Open(key, m, sealed)
	if err != nil {
		return nil, nil, hint.Add(err, "pass the key file it was built with")
	}
	// Kept only now that the key has shown whose it is, one an index: a cloud
	// must not fill this machine. A copy that cannot be written costs another
	// download, nothing else.
	if fresh && copied != "" && os.MkdirAll(filepath.Dir(copied), 0o700) == nil {
		_ = durable.WriteFile(copied, sealed, 0o600)
	}
	return o, m, checkSeen(o)
}

// maxProfileBytes bounds a profile: one of PCA-8 has 20 MB, and the largest
// list of keywords adds 8.
const maxProfileBytes = 64 << 20

// profileCopy is where the profile of an index is kept, "" if nowhere.
func profileCopy(id cpar.IndexID) string { return cacheFile("profiles", id.String()) }
