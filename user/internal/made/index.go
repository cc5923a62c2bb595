package made

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"cpar"
	"cpar/internal/indexdir"
	"cpar/user/feature"
	"cpar/user/internal/index"
	"cpar/user/internal/keyword"
	"cpar/user/internal/seed"
	"cpar/user/profile"
)

// ID is that of every index made here.
var ID = cpar.IndexID{1, 2, 3}

// Index is an index of photos to which a scheme has done nothing yet, and its
// collection, records in the order of the photos. Its key is always the same;
// random is what its secrets are hedged with.
func Index(t testing.TB, scheme cpar.Scheme, kind profile.Kind, photos []Photo, random io.Reader) (*index.Index, *index.Collection) {
	t.Helper()
	c := &index.Collection{}
	vectors := make([]*feature.Vectors, len(photos))
	for i, p := range photos {
		vectors[i] = p.Vectors
		c.Images, c.Keywords = append(c.Images, i), append(c.Keywords, p.Keywords)
	}
	fit, err := profile.Fit(context.Background(), kind, vectors, c.Keywords, profile.Options{PCA: 128})
	check(t, err)
	c.Vectors, err = fit.Profile.Vectors(vectors)
	check(t, err)
	x := &index.Index{ID: ID, Scheme: scheme, Records: len(photos), Generation: 1, Key: seed.Secret{9}}
	x.Profile, err = fit.Profile.ForCollection(c.Vectors)
	check(t, err)
	x.Projector, err = x.Profile.Projector(x.Secret("projection"))
	check(t, err)
	c.Z, err = x.Projector.ProjectAll(c.Vectors)
	check(t, err)
	words, err := keyword.NewDictionary(c.Keywords)
	check(t, err)
	x.Keywords = keyword.NewCipher(x.Secret("keywords"), x.ID, words)
	x.Source = seed.NewSource(x.Secret("fresh"), random)
	return x, c
}

// A Builder is a scheme's index that can be written.
type Builder interface {
	Describe(m *cpar.Manifest)
	Write(ctx context.Context, w *index.Writer) error
}

// Write writes an index into folder, which may hold the state before, and opens it
// as the cloud does. before are the segments of that state that stay. Where the
// ledger would be there are some bytes.
func Write(t testing.TB, folder string, x *index.Index, b Builder, before ...cpar.Segment) *indexdir.Index {
	t.Helper()
	dir, err := indexdir.Create(folder, indexdir.Options{})
	check(t, err)
	defer dir.Close()
	w := &index.Writer{Dir: dir, Manifest: &cpar.Manifest{ID: x.ID, Scheme: x.Scheme, Records: uint32(x.Records), Segments: before}}
	check(t, b.Write(context.Background(), w))
	check(t, w.Bytes(cpar.SegmentLedger, []byte("a ledger")))
	w.Sort()
	check(t, dir.Activate(w.Manifest))
	written, err := indexdir.Open(folder)
	check(t, err)
	t.Cleanup(written.Release)
	return written
}

// Folder is one that an index can be written to.
func Folder(t testing.TB) string { return filepath.Join(t.TempDir(), "index") }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
