package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/bep/imagemeta"
)

var errNotJPEG = errors.New("not a JPEG file")

// embeddedKeywords returns the IPTC keywords, then those of XMP dc:subject, as written.
// Programs mostly write the same keywords to both; the caller removes duplicates. Each
// source is read separately, so that a damaged one does not hide the other: on error, the
// keywords found so far are returned.
func embeddedKeywords(r io.ReadSeeker) ([]string, error) {
	var soi [2]byte
	if _, err := io.ReadFull(r, soi[:]); err != nil || soi != [2]byte{0xff, 0xd8} {
		return nil, errNotJPEG
	}
	var keywords []string
	var failures []error
	for _, source := range []struct {
		name string
		read func(io.ReadSeeker) ([]string, error)
	}{
		{"IPTC", func(r io.ReadSeeker) ([]string, error) { return iptcKeywords(r) }},
		{"XMP", xmpKeywords},
	} {
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return keywords, err
		}
		found, err := source.read(r)
		keywords = append(keywords, found...)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", source.name, err))
		}
	}
	return keywords, errors.Join(failures...)
}

func xmpKeywords(r io.ReadSeeker) ([]string, error) {
	const dublinCore = "http://purl.org/dc/elements/1.1/"
	var keywords []string
	_, err := imagemeta.Decode(imagemeta.Options{
		R:               r,
		ImageFormat:     imagemeta.JPEG,
		Sources:         imagemeta.XMP,
		ShouldHandleTag: func(t imagemeta.TagInfo) bool { return t.Namespace == dublinCore && t.Tag == "Subject" },
		HandleTag: func(t imagemeta.TagInfo) error {
			switch v := t.Value.(type) {
			case string:
				keywords = append(keywords, v)
			case []string:
				keywords = append(keywords, v...)
			}
			return nil
		},
	})
	return keywords, err
}
