package photoprism

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"

	"cpar/internal/scene"
)

const token = "0123456789abcdef0123456789abcdef"

// asPhotoPrism builds a request with every field that PhotoPrism's client may
// send.
func asPhotoPrism(pictures ...string) map[string]any {
	return map[string]any{
		"id": "b0db2187-7a09-438c-8649-a9c6c0f7b8a1", "model": "cpar", "version": "latest", "suffix": "", "stream": false,
		"prompt": "say what you see", "system": "be short", "format": "json", "options": map[string]any{"temperature": 0.1}, "context": []int{1, 2},
		"images": pictures,
	}
}

func dataURL(b []byte) string {
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b)
}

// post sends a request as PhotoPrism's client does.
func post(t *testing.T, url, key string, body any) (int, []byte) {
	t.Helper()
	b, ok := body.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Add("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("content type %q", got)
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, all
}

// shape lists the response fields that PhotoPrism reads, with path, JSON kind,
// and whether responses with labels must have them.
var shape = []struct {
	path, kind string
	required   bool
}{
	{"id", "string", true},
	{"code", "number", true},
	{"error", "string", false},
	{"model", "object", true},
	{"model.type", "string", true},
	{"model.name", "string", false},
	{"model.version", "string", false},
	{"result", "object", true},
	{"result.labels", "array", true},
	{"result.labels.0", "object", true},
	{"result.labels.0.name", "string", true},
	{"result.labels.0.source", "string", true},
	{"result.labels.0.priority", "number", false},
	{"result.labels.0.confidence", "number", true},
	{"result.labels.0.topicality", "number", false},
	{"result.labels.0.categories", "array", false},
}

// conforms checks a response with labels against shape.
func conforms(t *testing.T, answer []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatalf("not JSON: %q", answer)
	}
	for _, f := range shape {
		got, ok := at(v, strings.Split(f.path, "."))
		switch {
		case !ok && f.required:
			t.Errorf("%s is missing from %s", f.path, answer)
		case ok && kindOf(got) != f.kind:
			t.Errorf("%s is %v, want %s", f.path, kindOf(got), f.kind)
		}
	}
}

func at(v any, path []string) (any, bool) {
	for _, name := range path {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[name]; !ok {
				return nil, false
			}
		case []any:
			if len(x) == 0 {
				return nil, false
			}
			v = x[0]
		default:
			return nil, false
		}
	}
	return v, true
}

func kindOf(v any) string {
	switch reflect.ValueOf(v).Kind() {
	case reflect.String:
		return "string"
	case reflect.Float64:
		return "number"
	case reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	}
	return "another kind"
}

// service starts a server.
func service(t *testing.T, o Options) (url string, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	o.Token, o.Log = token, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := httptest.NewServer(Handler(o))
	t.Cleanup(s.Close)
	return s.URL + "/api/v1/vision/labels", log
}

func TestResponseMatchesContract(t *testing.T) {
	photo, left := []byte("centre of a photo"), []byte("left of a photo")
	var got [][]byte
	url, log := service(t, Options{Label: func(_ context.Context, pictures [][]byte) ([]Label, error) {
		got = pictures
		return []Label{{"beach", "image", 0.91, 0.91}, {"dog", "image", 0.5, 0.5}}, nil
	}})
	for _, path := range []string{"", "/cpar", "/cpar/latest"} {
		status, answer := post(t, url+path, token, asPhotoPrism(dataURL(photo), base64.StdEncoding.EncodeToString(left)))
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, answer)
		}
		conforms(t, answer)
		want := `{"id":"b0db2187-7a09-438c-8649-a9c6c0f7b8a1","code":200,"model":{"type":"labels","name":"cpar","version":"latest"},` +
			`"result":{"labels":[{"name":"beach","source":"image","confidence":0.91,"topicality":0.91},{"name":"dog","source":"image","confidence":0.5,"topicality":0.5}]}}` + "\n"
		if string(answer) != want {
			t.Errorf("answer %s", answer)
		}
	}
	if !reflect.DeepEqual(got, [][]byte{photo, left}) {
		t.Errorf("pictures %q", got)
	}
	for _, secret := range []string{token, "beach", "dog", "photo", base64.StdEncoding.EncodeToString(photo), "b0db2187"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log says %q:\n%s", secret, log)
		}
	}
	if !strings.Contains(log.String(), "status=200 pictures=2 labels=2 took=") {
		t.Errorf("the log says:\n%s", log)
	}
}

func TestNoLikelyLabelsIsNoError(t *testing.T) {
	url, _ := service(t, Options{Label: func(context.Context, [][]byte) ([]Label, error) { return []Label{}, nil }})
	status, answer := post(t, url, token, asPhotoPrism(dataURL([]byte("x"))))
	if want := `"code":200,"model":{"type":"labels","name":"cpar","version":"latest"},"result":{}}`; status != 200 || !strings.Contains(string(answer), want) {
		t.Errorf("status %d, %s", status, answer)
	}
}

// A live PhotoPrism also implements the protocol as a server and must match the
// same table.
func TestLivePhotoPrism(t *testing.T) {
	address, key := os.Getenv("CPAR_LIVE_PHOTOPRISM"), os.Getenv("CPAR_LIVE_PHOTOPRISM_KEY")
	if address == "" || key == "" {
		t.Skip("set CPAR_LIVE_PHOTOPRISM to the address of a PhotoPrism that has PHOTOPRISM_VISION_API on, and CPAR_LIVE_PHOTOPRISM_KEY to its PHOTOPRISM_VISION_KEY")
	}
	photo, _, err := scene.RenderJPEG(7, 1)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := post(t, strings.TrimSuffix(address, "/")+"/api/v1/vision/labels", key, asPhotoPrism(dataURL(photo)))
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, answer)
	}
	if _, ok := at(mustJSON(t, answer), []string{"result", "labels", "0"}); !ok {
		t.Skipf("PhotoPrism finds no labels for a painted picture, so its labels cannot be compared: %s", answer)
	}
	conforms(t, answer)
}

func mustJSON(t *testing.T, b []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
