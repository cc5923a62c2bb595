package api_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cpar/cloud/api"
	"cpar/cloud/store"
	"cpar/cparhttp"
	"cpar/internal/durable"
)

// BenchmarkUpload compares uploads of blobs of 20 MB with a program that reads
// the same bytes from a loopback socket, hashes, writes and syncs them. The
// server should reach 0.6 of its throughput.
func BenchmarkUpload(b *testing.B) {
	blob := make([]byte, 20<<20)
	rand.NewChaCha8([32]byte{1}).Read(blob)
	sum := fmt.Sprintf("%x", sha256.Sum256(blob))
	for _, clients := range []int{1, 4} {
		b.Run(fmt.Sprintf("plain/%d", clients), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			dir := b.TempDir()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go receivePlainly(b, c, dir, len(blob))
				}
			}()
			upload(b, clients, len(blob), func(int) error {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					return err
				}
				defer c.Close()
				if _, err := c.Write(blob); err != nil {
					return err
				}
				_, err = io.ReadFull(c, make([]byte, sha256.Size))
				return err
			})
		})
		b.Run(fmt.Sprintf("server/%d", clients), func(b *testing.B) {
			s, err := store.Open(b.TempDir(), load, store.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			h, err := api.New(s, new(fake), api.Options{})
			if err != nil {
				b.Fatal(err)
			}
			srv := httptest.NewServer(h)
			defer srv.Close()
			upload(b, clients, len(blob), func(n int) error {
				q, err := http.NewRequest("PUT", blobURL(srv.URL, fmt.Sprintf("p-%d", n)), bytes.NewReader(blob))
				if err != nil {
					return err
				}
				q.Header.Set(cparhttp.HeaderSHA256, sum)
				q.Header.Set("If-None-Match", "*")
				r, err := http.DefaultClient.Do(q)
				if err != nil {
					return err
				}
				defer r.Body.Close()
				if r.StatusCode != http.StatusCreated {
					return fmt.Errorf("status %s", r.Status)
				}
				return nil
			})
		})
	}
}

func upload(b *testing.B, clients, size int, send func(n int) error) {
	b.SetBytes(int64(size))
	next := make(chan int)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for n := range next {
				if err := send(n); err != nil {
					b.Error(err)
				}
			}
		})
	}
	n := 0
	for b.Loop() {
		next <- n
		n++
	}
	close(next)
	group.Wait()
}

func receivePlainly(b *testing.B, c net.Conn, dir string, size int) {
	defer c.Close()
	f, err := os.CreateTemp(dir, "upload-*.tmp")
	if err != nil {
		b.Error(err)
		return
	}
	h := sha256.New()
	_, err = io.CopyBuffer(io.MultiWriter(f, h), struct{ io.Reader }{io.LimitReader(c, int64(size))}, make([]byte, 128<<10))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	name := fmt.Sprintf("%x-%s", h.Sum(nil), filepath.Base(f.Name()))
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err == nil {
		err = durable.OS.SyncDir(dir)
	}
	if err != nil {
		b.Error(err)
	}
	c.Write(h.Sum(nil))
}
