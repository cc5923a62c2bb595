package user

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/indexdir"
	"cpar/internal/testing/crash"
)

// TestInterruptedUpdate cuts an update at every step. The folder must hold a
// complete generation, old or new, and accept the next write.
func TestInterruptedUpdate(t *testing.T) {
	for _, scheme := range growing {
		t.Run(scheme.String(), func(t *testing.T) {
			key := testKey()
			_, folder := build(t, key, madeImages(3, 1), small(scheme))
			added := madeImages(1, 5)
			crash.Each(t,
				func(root string) {
					if err := os.CopyFS(filepath.Join(root, "x"), os.DirFS(folder)); err != nil {
						t.Fatal(err)
					}
				},
				func(fsys durable.FS, root string) error {
					_, err := update(key, filepath.Join(root, "x"), "adding", UpdateOptions{testOnlyFS: fsys}, adding(context.Background(), added))
					return err
				},
				func(t *testing.T, root string, done bool) {
					folder := filepath.Join(root, "x")
					x := held(t, key, folder)
					n := len(x.findable())
					if g := x.Generation(); done && g != 2 || n != int(g)+2 {
						t.Fatalf("done %v: generation %d with %d records", done, g, n)
					}
					writable(t, folder)
				})
		})
	}
}

func writable(t *testing.T, folder string) {
	t.Helper()
	dir, err := indexdir.Create(folder, indexdir.Options{})
	if err != nil {
		t.Fatalf("writing again: %v", err)
	}
	dir.Close()
}

// TestInterruptedBuild cuts a first build at every step. The folder must hold a
// complete index or none, and accept another build.
func TestInterruptedBuild(t *testing.T) {
	for _, scheme := range cpar.Schemes() {
		t.Run(scheme.String(), func(t *testing.T) {
			key, images := testKey(), madeImages(2, 1)
			crash.Each(t,
				func(string) {},
				func(fsys durable.FS, root string) error {
					b, err := Setup(context.Background(), key, images, small(scheme))
					if err != nil {
						t.Fatal(err)
					}
					_, err = b.encrypt(context.Background(), filepath.Join(root, "x"), indexdir.Options{FS: fsys})
					return err
				},
				func(t *testing.T, root string, done bool) {
					folder := filepath.Join(root, "x")
					_, err := indexdir.ReadManifest(folder)
					switch {
					case err == nil:
						if x := held(t, key, folder); x.Records() != len(images) {
							t.Fatalf("an index of %d records", x.Records())
						}
					case done || !errors.Is(err, indexdir.ErrNoIndex):
						t.Fatalf("done %v: %v", done, err)
					}
					writable(t, folder)
				})
		})
	}
}
