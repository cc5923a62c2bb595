package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/durable"
	"cpar/user"
)

// What is kept at home of an index at a cloud, all of it in the cache folder
// and encrypted as it came; remembered.go has what is remembered besides:
//
//	cpar/profiles/ID           the owner's profile
//	cpar/held/ID/DIGEST        what schemes sealed and local need here, fetched once

// hold gives an owner what it must have at home to annotate with: from the cache,
// or else from the cloud. It returns how many bytes were fetched.
func hold(ctx context.Context, client *cparhttp.Client, o *user.Owner, m *cpar.Manifest, report func(stage string, done, total int)) (fetched uint64, err error) {
	needs := o.Needs(m)
	if len(needs) == 0 {
		return 0, nil
	}
	folder := cacheFile("held", m.ID.String())
	segments := map[cpar.Digest][]byte{}
	var fresh []cpar.Digest
	var total uint64
	for _, s := range needs {
		total += s.Bytes
		if b, err := os.ReadFile(filepath.Join(folder, s.Digest.String())); folder != "" && err == nil && fits(b, s) {
			segments[s.Digest] = b
			fetched += s.Bytes
		}
	}
	had := fetched
	for _, s := range needs {
		if segments[s.Digest] != nil {
			continue
		}
		b := new(bytes.Buffer)
		if err := client.Segment(ctx, m.ID, s, &counting{b, func(n int) {
			fetched += uint64(n)
			if report != nil {
				report("fetch, kB", int(fetched/1000), int(total/1000))
			}
		}}); err != nil {
			return 0, err
		}
		segments[s.Digest] = b.Bytes()
		fresh = append(fresh, s.Digest)
	}
	if err := o.Hold(m, segments); err != nil {
		return 0, err
	}
	// Kept only now that the key has shown whose they are. What cannot be written
	// costs another download, nothing else.
	if folder != "" && os.MkdirAll(folder, 0o700) == nil {
		for _, d := range fresh {
			_ = durable.WriteFile(filepath.Join(folder, d.String()), segments[d], 0o600)
		}
		dropOthers(folder, segments)
	}
	return fetched - had, nil
}

// openHeld opens an index at the cloud and fetches what is needed of it. A segment
// that is gone may have been replaced by an update since the manifest was fetched:
// then all is done once more, which tells the cloud nothing of what will be asked.
// ready may refuse the owner before anything large is fetched.
func openHeld(ctx context.Context, client *cparhttp.Client, key *user.Key, id cpar.IndexID, ready func(*user.Owner) error, report func(stage string, done, total int)) (o *user.Owner, m *cpar.Manifest, fetched uint64, err error) {
	for range 2 {
		if o, m, err = openAt(ctx, client, key, id); err == nil {
			err = ready(o)
		}
		if err == nil {
			fetched, err = hold(ctx, client, o, m, report)
		}
		if !errors.Is(err, cparhttp.ErrNotFound) {
			break
		}
	}
	return o, m, fetched, err
}

func fits(b []byte, s cpar.Segment) bool {
	return uint64(len(b)) == s.Bytes && sha256.Sum256(b) == s.Digest
}

// dropOthers removes the segments that an update has made useless.
func dropOthers(folder string, keep map[cpar.Digest][]byte) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if d, err := cpar.ParseDigest(e.Name()); err == nil && keep[d] == nil {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

type counting struct {
	io.Writer
	wrote func(n int)
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.wrote(n)
	return n, err
}
