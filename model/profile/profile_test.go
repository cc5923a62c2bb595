package profile_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/seed"
	"cpar/internal/testing/syntheticphotos"
	"cpar/internal/wire"
	"cpar/model/feature"
	"cpar/model/profile"
)

func fit(kind profile.Kind, photos []feature.Photo) (*profile.Fitted, []*feature.Vectors, error) {
	var vectors []*feature.Vectors
	var keywords [][]string
	for _, p := range photos {
		vectors, keywords = append(vectors, p.Vectors), append(keywords, p.Keywords)
	}
	text := func(words []string) (out [][]float32, err error) {
		for range words {
			out = append(out, vectors[len(out)%len(vectors)].Embedding.Values)
		}
		return out, nil
	}
	o := profile.Options{PCA: 128}
	if kind == profile.Clip {
		o.Text = text
	}
	f, err := profile.Fit(context.Background(), kind, vectors, keywords, o)
	return f, vectors, err
}

func TestVectorEqualsVectors(t *testing.T) {
	for _, kind := range profile.Kinds() {
		f, photos, err := fit(kind, syntheticphotos.Embedded(40, 1))
		if err != nil {
			t.Fatal(err)
		}
		many, err := f.Profile.Vectors(photos)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Profile.ForCollection(many)
		if err != nil {
			t.Fatal(err)
		}
		b, err := profile.Append(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		r := wire.NewReader(b, cpar.ErrCorrupt)
		again, err := profile.Read(r)
		if err != nil || r.Close() != nil || again.Validate() != nil || again.Kind() != kind {
			t.Fatalf("%v: read as %v, %v, %v", kind, again.Kind(), err, r.Close())
		}
		if c, err := profile.Append(nil, again); err != nil || !bytes.Equal(b, c) {
			t.Errorf("%v: read, then written otherwise: %v", kind, err)
		}
		projector, err := p.Projector(seed.Secret{1})
		if err != nil {
			t.Fatal(err)
		}
		z, err := projector.ProjectAll(many)
		if err != nil {
			t.Fatal(err)
		}
		for i, photo := range photos {
			one, err := again.Vector(photo)
			if err == nil && (one.Guess != nil) != (kind == profile.Learned || kind == profile.Network) {
				t.Fatalf("%v: photo %d has guess %v", kind, i, one.Guess)
			}
			if one != nil {
				one.Guess = nil
			}
			if err != nil || !reflect.DeepEqual(one, many[i]) {
				t.Fatalf("%v: photo %d has another vector alone: %v", kind, i, err)
			}
			if len(one.Levels) != again.Dimensions() || len(z[i]) != again.Layout().JL {
				t.Fatalf("%v: %d levels, %d coordinates", kind, len(one.Levels), len(z[i]))
			}
			alone, err := projector.Project(one)
			if err != nil || !reflect.DeepEqual(alone, z[i]) {
				t.Fatalf("%v: photo %d has another z alone: %v", kind, i, err)
			}
		}
	}
}

func TestFitRejectsUninformativeKeywords(t *testing.T) {
	photos := syntheticphotos.Photos(20, 1)
	for i := range photos {
		photos[i].Keywords = nil
	}
	if _, _, err := fit(profile.Learned, photos); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "paper") {
		t.Errorf("no keywords: %v; hint %q", err, hint.Of(err))
	}
	if _, _, err := fit(profile.Learned, syntheticphotos.Photos(4, 1)); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "paper") {
		t.Errorf("four photos: %v; hint %q", err, hint.Of(err))
	}
	if _, _, err := fit(profile.Network, syntheticphotos.Photos(20, 1)); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "--model") {
		t.Errorf("no embeddings: %v; hint %q", err, hint.Of(err))
	}
}
