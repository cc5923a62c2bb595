package cparhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"cpar"
	"cpar/internal/indexdir"
)

// Push sends the index in `folder` to the server and activates it. It skips
// segments that the server has. If `progress` is not nil, Push calls it with
// the number of bytes on the server and in total. The calls never overlap but
// may come from another goroutine.
func (c *Client) Push(ctx context.Context, folder string, progress func(done, total int64)) (*cpar.Manifest, error) {
	x, err := indexdir.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("pushing: %w", err)
	}
	defer x.Release()
	m := x.Manifest()
	b, err := m.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("pushing: %w", err)
	}
	// Try twice, because another push or the server's garbage collection may
	// remove segments before activation.
	for range 2 {
		if err = c.pushSegments(ctx, x, b, progress); err != nil {
			break
		}
		_, err = c.do(ctx, call{method: http.MethodPut, path: route(PathManifest, m.ID), body: b, patience: activationPatience})
		if !errors.Is(err, errIncomplete) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pushing index %v: %w", m.ID, err)
	}
	return m, nil
}

// Missing returns the segments of m that the server does not have.
func (c *Client) Missing(ctx context.Context, m *cpar.Manifest) ([]cpar.Segment, error) {
	b, err := m.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("listing missing segments: %w", err)
	}
	missing, err := c.missing(ctx, m.ID, b)
	if err != nil {
		return nil, fmt.Errorf("listing missing segments: %w", err)
	}
	var out []cpar.Segment
	for _, s := range m.Segments {
		if missing[s.Digest.String()] {
			out = append(out, s)
		}
	}
	return out, nil
}

func (c *Client) missing(ctx context.Context, id cpar.IndexID, manifest []byte) (map[string]bool, error) {
	var list MissingList
	// The server may have to verify its segments first.
	k := call{method: http.MethodPost, path: route(PathMissing, id), body: manifest, patience: activationPatience}
	if err := c.json(ctx, k, &list); err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, d := range list.Missing {
		missing[d] = true
	}
	return missing, nil
}

func (c *Client) pushSegments(ctx context.Context, x *indexdir.Index, manifest []byte, progress func(done, total int64)) error {
	m := x.Manifest()
	missing, err := c.missing(ctx, m.ID, manifest)
	if err != nil {
		return err
	}
	done, total := int64(0), int64(m.Bytes())
	for _, s := range m.Segments {
		if !missing[s.Digest.String()] {
			done += int64(s.Bytes)
		}
	}
	tell := func(n int) {
		done += int64(n)
		if progress != nil {
			progress(done, total)
		}
	}
	tell(0)
	for i, s := range m.Segments {
		if !missing[s.Digest.String()] {
			continue
		}
		k := call{method: http.MethodPut, path: route(PathSegment, m.ID, s.Digest), body: x.Segments()[i], sent: tell}
		if _, err := c.do(ctx, k); err != nil {
			return fmt.Errorf("segment %v %.8v…: %w", s.Kind, s.Digest, err)
		}
	}
	return nil
}
