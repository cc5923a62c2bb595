package device_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"

	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/scene"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/device"
)

// Photos in a folder are encrypted and pushed to a cloud. A second device,
// which has only the key, requests keywords for a new photo.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	photos := paint(dir, 24)

	images, _, err := user.ReadPhotos(ctx, photos, user.ReadOptions{})
	check(err)
	key := user.NewKey()
	builder, err := user.Setup(ctx, key, images, user.Options{})
	check(err)
	index := filepath.Join(dir, "index")
	_, err = builder.Encrypt(ctx, index)
	check(err)

	client := start(filepath.Join(dir, "cloud"))
	first := device.Device{State: filepath.Join(dir, "first")}
	check(first.Made(key, index, nil))
	_, err = first.Push(ctx, client, index, device.PushOptions{})
	check(err)

	second := device.Device{State: filepath.Join(dir, "second")}
	x, err := second.Open(ctx, client, key, device.OpenOptions{})
	check(err)
	found, err := x.Annotate(ctx, []device.Photo{device.File(photos[5].Path)}, device.AnnotateOptions{Ranking: user.Ranking{MaxKeywords: 1}})
	check(err)
	check(found[0].Err)
	fmt.Println("keywords:", len(found[0].Keywords), "after", found[0].Sent, "bytes were sent")
	fmt.Println("the nearest photo is the same one:", slices.Equal(found[0].Near[0].Keywords, photos[5].Keywords))
	// Output:
	// keywords: 1 after 135208 bytes were sent
	// the nearest photo is the same one: true
}

// paint writes images with keywords.
func paint(dir string, n int) (items []dataset.Photo) {
	for i := range n {
		jpg, words, err := scene.RenderJPEG(1, i)
		check(err)
		it := dataset.Photo{Name: fmt.Sprintf("%d.jpg", i), Path: filepath.Join(dir, fmt.Sprintf("%d.jpg", i)), Keywords: words}
		check(os.WriteFile(it.Path, jpg, 0o600))
		items = append(items, it)
	}
	return items
}

// start starts a cloud, as `cpard serve` does.
func start(data string) *cparhttp.Client {
	c, err := cloud.New(data, store.Options{})
	check(err)
	handler, err := api.New(c.Store, c, api.Options{})
	check(err)
	client, err := cparhttp.New(httptest.NewServer(handler).URL, nil)
	check(err)
	return client
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
