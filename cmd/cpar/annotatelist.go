package main

import (
	"fmt"
	"io"
	"strings"

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
	all, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading the list of photos: %w: %w", cpar.ErrInput, err)
	}
	for name := range strings.FieldsFuncSeq(string(all), func(c rune) bool { return c == 0 || c == '\n' }) {
		if name = strings.TrimSuffix(name, "\r"); name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}
