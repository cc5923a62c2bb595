package user_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"os"

	"cpar"
	"cpar/cloud/score"
	"cpar/cloud/sealed"
	"cpar/cloud/search"
	"cpar/internal/indexdir"
	"cpar/model/feature"
	"cpar/model/profile"
	"cpar/user"
)

// collection returns two dozen photos of beaches and forests as features.
// Programs read files with user.ReadPhotos.
func collection() (images []user.Photo) {
	for i := range 24 {
		words := []string{"beach", "sea"}
		if i%2 == 1 {
			words = []string{"forest", "tree"}
		}
		images = append(images, user.Photo{Vectors: photo(i%2, i), Keywords: words})
	}
	return images
}

func photo(kind, number int) *feature.Vectors {
	v := feature.New()
	for _, b := range feature.Blocks() {
		values, sum := b.Of(v), float32(0)
		for i := range values {
			if i%2 == kind {
				values[i] = 1 + float32((number*31+i*17)%97)/200
			}
			sum += values[i]
		}
		for i := range values {
			if b.Kind == feature.Histogram {
				values[i] /= sum
			}
		}
	}
	return v
}

// encrypted builds an index and opens its files as the server does.
func encrypted(key *user.Key, o user.Options) (*user.Builder, *indexdir.Index) {
	b, err := user.Setup(context.Background(), key, collection(), o)
	check(err)
	folder, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(folder)
	_, err = b.Encrypt(context.Background(), folder)
	check(err)
	files, err := indexdir.Open(folder)
	check(err)
	return b, files
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// hold gives an owner the segments that requests require.
func hold(o *user.Owner, files *indexdir.Index) {
	held := map[cpar.Digest][]byte{}
	for i, s := range files.Manifest().Segments {
		held[s.Digest] = files.Segments()[i]
	}
	check(o.Hold(files.Manifest(), held))
}

// Scheme sealed, the default: the server computes a number for every photo but
// cannot read any.
func Example_sealed() {
	key := user.NewKey()
	_, files := encrypted(key, user.Options{})
	defer files.Release()

	// Another device has the key and fetches the rest.
	owner, err := user.Open(key, files.Manifest(), files.Read)
	check(err)
	hold(owner, files)
	pending, request, err := owner.Request(photo(0, 100), owner.DefaultParams())
	check(err)

	// The server has neither key nor photo.
	cloud, err := sealed.Load(files.Manifest(), files.Segments())
	check(err)
	replies, err := cloud.Annotate(context.Background(), 1, []*cpar.Request{request})
	check(err)

	near, err := pending.Neighbours(replies[0])
	check(err)
	keywords, err := owner.Rank(near, user.Ranking{MaxKeywords: 2})
	check(err)
	fmt.Println(keywords[0].Word, keywords[1].Word)
	// Output: beach sea
}

// Scheme local: the owner fetches the whole encrypted index and sends no
// requests.
func Example_local() {
	key := user.NewKey()
	_, files := encrypted(key, user.Options{Scheme: cpar.SchemeLocal})
	defer files.Release()
	owner, err := user.Open(key, files.Manifest(), files.Read)
	check(err)
	hold(owner, files)
	pending, request, err := owner.Request(photo(1, 100), owner.DefaultParams())
	check(err)
	near, err := pending.Neighbours(nil)
	check(err)
	keywords, err := owner.Rank(near, user.Ranking{MaxKeywords: 2})
	check(err)
	fmt.Println("sent:", request != nil)
	fmt.Println(keywords[0].Word, keywords[1].Word)
	// Output:
	// sent: false
	// forest tree
}

// Scheme cpar, the paper's: the server searches an encrypted forest. The key
// must allow it explicitly, because the server learns how near the photos are.
func Example_cpar() {
	key := user.NewKey(cpar.SchemeCPAR)
	b, files := encrypted(key, user.Options{Scheme: cpar.SchemeCPAR, Trees: 4})
	defer files.Release()
	p := cpar.Params{Scheme: cpar.SchemeCPAR, Search: cpar.SearchByRank, L: 5, Approx: 500} // visits half of the photos
	pending, request, err := b.Request(photo(0, 100), p)
	check(err)

	cloud, err := score.Load(files.Manifest(), files.Segments())
	check(err)
	reply, err := search.Annotate(cloud, request)
	check(err)

	near, err := pending.Neighbours(reply)
	check(err)
	fmt.Println(len(near), "neighbours of", reply.Visited, "visited, the nearest:", near[0].Keywords)
	// Output: 5 neighbours of 12 visited, the nearest: [beach sea]
}

// Scheme capia, the paper's baseline: the server scores every photo. The twin
// finds the same on plaintext.
func Example_capia() {
	key := user.NewKey(cpar.SchemeCAPIA)
	b, files := encrypted(key, user.Options{Scheme: cpar.SchemeCAPIA})
	defer files.Release()
	pending, request, err := b.Request(photo(1, 100), b.DefaultParams())
	check(err)

	cloud, err := score.Load(files.Manifest(), files.Segments())
	check(err)
	reply, err := search.Annotate(cloud, request)
	check(err)

	twin, err := b.Twin()
	check(err)
	hits, err := twin.Search(pending, nil)
	check(err)
	fmt.Println("the same nearest record:", reply.Matches[0].Record == hits[0].Record)
	// Output: the same nearest record: true
}

// A key restricts the schemes that may be used with it.
func ExampleNewKey() {
	_, err := user.Setup(context.Background(), user.NewKey(), collection(), user.Options{Scheme: cpar.SchemeCAPIA})
	fmt.Println(err)
	fmt.Println(user.NewKey(cpar.SchemeCAPIA).Policy())
	// Output:
	// setting up an index: unusable input: the key does not allow scheme capia, which shows the cloud the distances; it allows sealed, local
	// capia, sealed, local
}

// A custom feature: any numeric description of a photo can replace the image
// network's embedding. Profile `network` learns its useful directions from the
// keywords.
func Example_customFeature() {
	describe := func(kind int) *feature.Embedding {
		e := &feature.Embedding{Network: sha256.Sum256([]byte("brightness by hour, version 1")), Values: make([]float32, 24)}
		for hour := range e.Values {
			e.Values[hour] = float32((hour*5)%7) / 10
			if hour%2 == kind {
				e.Values[hour]++
			}
		}
		return e
	}
	images := collection()
	for i := range images {
		images[i].Vectors.Embedding = describe(i % 2)
	}
	b, err := user.Setup(context.Background(), user.NewKey(), images, user.Options{Scheme: cpar.SchemeLocal, Profile: profile.Network})
	check(err)
	fmt.Println("profile", b.Profile().Kind(), "ranks by", b.Ranker().Kind(), "keywords")
	// Output: profile network ranks by calibrated keywords
}
