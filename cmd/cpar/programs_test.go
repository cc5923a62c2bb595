package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/internal/testing/immichtest"
)

func visionServe(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, "cpar", append([]string{"vision-serve", "--listen", "127.0.0.1:0"}, args[1:]...)...)
	ts.Setenv("VISION", ts.Value("vision").(*process).start(ts, cmd, args[0]))
}

func visionStop(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Value("vision").(*process).stop(ts)
}

// asPhotoPrism posts an image to $VISION as PhotoPrism does. A third argument
// replaces the image.
func asPhotoPrism(ts *testscript.TestScript, _ bool, args []string) {
	image := "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString([]byte(ts.ReadFile(args[0])))
	if len(args) > 2 {
		image = args[2]
	}
	body, err := json.Marshal(map[string]any{"id": "b0db2187-7a09-438c-8649-a9c6c0f7b8a1", "model": "cpar", "suffix": "", "stream": false, "images": []string{image}})
	ts.Check(err)
	r, err := http.NewRequest(http.MethodPost, ts.Getenv("VISION"), bytes.NewReader(body))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[1])))
	resp, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	_, err = io.Copy(ts.Stdout(), resp.Body)
	ts.Check(err)
}

func immichServe(ts *testscript.TestScript, _ bool, args []string) {
	paths, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*.jpg"))
	ts.Check(err)
	s := immichtest.New()
	for i, path := range paths {
		b, err := os.ReadFile(path)
		ts.Check(err)
		s.Photos = append(s.Photos, &immichtest.Photo{ID: immichtest.ID(1, i), Name: filepath.Base(path), Checksum: fmt.Sprint("sum", i), Preview: b})
	}
	h := httptest.NewServer(s)
	ts.Defer(h.Close)
	*ts.Value("immich").(**immichtest.Server) = s
	ts.Setenv("CPAR_IMMICH", h.URL)
	ts.Setenv("CPAR_IMMICH_API_KEY", immichtest.Key)
}

func immichPhotos(ts *testscript.TestScript, _ bool, _ []string) {
	s := *ts.Value("immich").(**immichtest.Server)
	for _, p := range s.Photos {
		tags := slices.Sorted(slices.Values(p.Tags))
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", p.Name, strings.Join(tags, " "))
	}
	fmt.Fprintf(ts.Stdout(), "tags: %s\n", strings.Join(s.Tags(), " "))
}

func immichTag(ts *testscript.TestScript, _ bool, args []string) {
	s := *ts.Value("immich").(**immichtest.Server)
	for _, p := range s.Photos {
		if p.Name == args[0] {
			p.Tags = args[1:]
		}
	}
	for _, v := range args[1:] {
		s.Make(v)
	}
}
