package ui

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cpar/internal/scene"
	"cpar/internal/seed"
	"cpar/internal/testing/blobtest"
	"cpar/photo/dataset"
	"cpar/user"
	"cpar/user/album"
	"cpar/user/album/blobs"
	"cpar/user/album/catalogue"
	"cpar/user/album/thumbs"
	"cpar/user/device"
)

// A made album has a few real photos, and rows with thumbnails without originals.
type madeAlbum struct {
	store *blobtest.Memory
	key   *user.Key
	root  string
}

const realPhotos, pictureKinds = 12, 24

// newAlbum makes an album with n rows from 2013 to 2025. One row in fifty has no
// date, one in seven no keyword, and one in nine a suggestion only.
func newAlbum(t testing.TB, n int) *madeAlbum {
	t.Helper()
	m := &madeAlbum{blobtest.NewMemory(), user.NewKey(), t.TempDir()}
	dir := filepath.Join(m.root, "summer")
	var manifest []dataset.Photo
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	var words [][]string
	for i := range pictureKinds {
		file, w, err := scene.RenderJPEG(11, i)
		if err != nil {
			t.Fatal(err)
		}
		files, words = append(files, file), append(words, w)
		if i < realPhotos {
			file = dated(file, time.Date(2026, 7, 20-i, 12, 30-i, 0, 0, time.UTC).Format("2006:01:02 15:04:05"))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("P10%03d.jpg", 400+i)), file, 0o600); err != nil {
				t.Fatal(err)
			}
			manifest = append(manifest, dataset.Photo{Name: fmt.Sprintf("P10%03d.jpg", 400+i), Keywords: w})
		}
	}
	if err := dataset.WriteManifestFile(dir, manifest); err != nil {
		t.Fatal(err)
	}
	a := m.device(t, "home")
	if _, err := a.Add(t.Context(), []string{dir}, album.AddOptions{PlaceDigits: 2}); err != nil {
		t.Fatal(err)
	}
	secret := seed.Secret(m.key.Album())
	c, err := catalogue.Open(t.Context(), catalogue.Options{Store: m.store, Album: album.ID(m.key), Folder: filepath.Join(m.root, "maker"), Secret: secret,
		See: func(uint64, [32]byte, user.History) error { return nil }})
	if err == nil {
		_, err = c.Sync(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	change := &catalogue.Change{Pins: map[string]blobs.Pin{}}
	batch := thumbs.NewReader(m.store, filepath.Join(m.root, "maker"), secret).Batch()
	images := make([]*thumbs.Images, pictureKinds)
	for i := range images {
		images[i] = thumbs.Make(files[i])
	}
	r := rand.New(rand.NewPCG(1, 2))
	begin := time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for i := range n {
		kind := r.IntN(pictureKinds)
		p := &catalogue.Photo{Folder: fmt.Sprintf("archive/%03d", i/500), Name: fmt.Sprintf("IMG_%05d.jpg", i), Width: 4000, Height: 3000, Camera: []string{"Canon EOS R6", "Pixel 8"}[i%2],
			Files: []catalogue.File{{Name: fmt.Sprintf("IMG_%05d.jpg", i), Size: int64(3e6 + r.IntN(3e6)), Object: fmt.Sprintf("I%032x", i)}}}
		if i%50 != 0 {
			p.Time = begin + int64(i)*13*365*86400/int64(n)
		}
		for _, w := range words[kind] {
			switch {
			case i%7 == 0:
			case i%9 == 0:
				p.Keywords = append(p.Keywords, catalogue.Keyword{Word: w, Source: catalogue.Suggested, Probability: 80})
			default:
				p.Keywords = append(p.Keywords, catalogue.Keyword{Word: w})
			}
		}
		change.Put = append(change.Put, p)
		batch.Add(p, images[kind])
	}
	err = batch.Encode(func(name string, part []byte) error {
		change.Pins[name] = blobs.PinOf(part, time.Now())
		return m.store.Put(t.Context(), name, part)
	})
	if err == nil {
		err = c.Commit(t.Context(), func(*catalogue.State) (*catalogue.Change, error) { return change, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// dated adds the time at which a JPEG file was taken, in EXIF.
func dated(file []byte, date string) []byte {
	le := binary.LittleEndian
	tag := func(b []byte, id, kind uint16, n, value uint32) []byte {
		return le.AppendUint32(le.AppendUint32(le.AppendUint16(le.AppendUint16(b, id), kind), n), value)
	}
	b := append([]byte("II*\x00"), 8, 0, 0, 0)
	b = le.AppendUint32(tag(le.AppendUint16(b, 1), 0x8769, 4, 1, 26), 0)
	b = le.AppendUint32(tag(le.AppendUint16(b, 1), 0x9003, 2, 20, 44), 0)
	b = append(append([]byte("Exif\x00\x00"), b...), date+"\x00"...)
	segment := append([]byte{0xff, 0xe1, byte((len(b) + 2) >> 8), byte(len(b) + 2)}, b...)
	return slices.Concat(file[:2], segment, file[2:])
}

func (m *madeAlbum) over(t testing.TB, name string, s blobs.Store) *album.Album {
	t.Helper()
	a, err := album.Open(t.Context(), album.Options{Store: s, Key: m.key, Device: &device.Device{State: filepath.Join(m.root, "device "+name)}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (m *madeAlbum) device(t testing.TB, name string) *album.Album { return m.over(t, name, m.store) }

// synced returns a device that has the catalogue and no thumbnails.
func (m *madeAlbum) synced(t testing.TB, name string) *album.Album {
	t.Helper()
	a := m.device(t, name)
	if err := a.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m.device(t, name)
}

// startAlbum serves the album to a page and returns the server and its address.
func startAlbum(t testing.TB, a *album.Album) (s *Server, live *album.Live, address string) {
	t.Helper()
	return startSeeking(t, a, nil)
}

// startSeeking serves an album in which the page can search by likeness.
func startSeeking(t testing.TB, a *album.Album, seeker Seeker) (s *Server, live *album.Live, address string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	live = album.NewLive(a)
	s = newServer(listener.Addr().String(), nil, &shelf{})
	s.album = newAlbumPage(live, "http://127.0.0.1:8080", nil)
	s.album.seeker = seeker
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		live.Close(context.Background())
	})
	return s, live, "http://" + s.host + "/#token=" + s.token
}
