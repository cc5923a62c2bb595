package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/photo"
)

// photos lists the photos of files and folders. "-" reads names from standard
// input.
func (f *annotateFlags) photos(cmd *cobra.Command, args []string) ([]photo.Photo, error) {
	var roots []string
	for _, a := range args {
		if a != "-" {
			roots = append(roots, a)
			continue
		}
		named, err := readList(cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		roots = append(roots, named...)
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("looking for photos: %w: standard input names none", cpar.ErrInput)
	}
	return findPhotos(cmd, roots, photo.Options{Exclude: f.write.exclude})
}

// readList reads names, one per line or NUL-terminated as from find -print0.
func readList(r io.Reader) (names []string, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	s.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		if i := bytes.IndexAny(data, "\x00\n"); i >= 0 {
			return i + 1, bytes.TrimSuffix(data[:i], []byte("\r")), nil
		}
		if atEnd && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	for s.Scan() {
		if name := s.Text(); name != "" {
			names = append(names, name)
		}
	}
	if s.Err() != nil {
		return nil, fmt.Errorf("reading the list of photos: %w: %w", cpar.ErrInput, s.Err())
	}
	return names, nil
}
