package onnx

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cpar/internal/testing/onnxtest"
)

func outside(name, location string, entries ...string) onnxtest.Proto {
	t := onnxtest.Proto{}.Varint(1, 4).Varint(2, onnxtest.Float).Text(8, name)
	entries = append([]string{"location", location}, entries...)
	for i := 0; i < len(entries); i += 2 {
		t = t.Bytes(13, onnxtest.Proto{}.Text(1, entries[i]).Text(2, entries[i+1]))
	}
	return t.Varint(14, 1)
}

func adding(constants ...onnxtest.Proto) *onnxtest.File {
	f := onnxtest.Empty(13).Input("image", onnxtest.Float, 4).Node("Add", []string{"image", "k"}, "y", nil).Output("y")
	f.Tensors = constants
	return f
}

func folder(t testing.TB, model []byte, others map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "inner")
	for name, data := range others {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.onnx")
	if err := os.WriteFile(path, model, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func readAll(path string, limits Limits) ([]float32, *File, error) {
	f, err := Open(path, limits)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if _, err := ReadOutline(f.Data, limits, f.External); err != nil {
		return nil, nil, err
	}
	m, err := Read(f.Data, limits, f.External)
	if err != nil {
		return nil, nil, err
	}
	values, err := m.Graph.Constants[0].Floats()
	about := *f
	return values, &about, err
}

var fourFloats = floatBytes(1, 2, 3, 4)

func floatBytes(values ...float32) []byte {
	t := onnxtest.FloatTensor("", values)
	return bytes.Clone(t[len(t)-4*len(values):])
}

func TestExternalData(t *testing.T) {
	others := map[string][]byte{
		"weights.bin":     append(append(make([]byte, 8), fourFloats...), 7, 7),
		"all.bin":         fourFloats,
		"below/model.bin": fourFloats,
	}
	digests := map[string]bool{}
	for name, k := range map[string]onnxtest.Proto{
		"whole":              outside("k", "all.bin"),
		"a part":             outside("k", "weights.bin", "offset", "8", "length", "16"),
		"from there":         outside("k", "weights.bin", "offset", "8"),
		"below":              outside("k", "below/model.bin", "checksum", "none"),
		"in the file itself": onnxtest.FloatTensor("k", []float32{1, 2, 3, 4}, 4),
	} {
		got, f, err := readAll(folder(t, adding(k).Bytes(), others), Limits{})
		if err != nil || fmt.Sprint(got) != "[1 2 3 4]" {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		digests[fmt.Sprint(f.digest, len(f.others))] = true
	}
	if len(digests) != 5 {
		t.Errorf("%d digests", len(digests))
	}
	digest := func(data []byte) [32]byte {
		f, err := Open(folder(t, adding(outside("k", "all.bin")).Bytes(), map[string][]byte{"all.bin": data}), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := Read(f.Data, Limits{}, f.External); err != nil {
			t.Fatal(err)
		}
		return f.Digest()
	}
	first := digest(fourFloats)
	if again := digest(fourFloats); first != again || first == digest(floatBytes(1, 2, 3, 5)) {
		t.Error("the digest does not follow the data")
	}
}

func TestExternalDataStaysInside(t *testing.T) {
	path := folder(t, nil, map[string][]byte{"all.bin": fourFloats, "../secret.bin": fourFloats, "short.bin": fourFloats[:15]})
	dir := filepath.Dir(path)
	secret := filepath.Join(dir, "..", "secret.bin")
	for link, to := range map[string]string{"link.bin": secret, "relative.bin": "../secret.bin", "up": "..", "inside.bin": "all.bin"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	pipe := makePipe(t, filepath.Join(dir, "pipe.bin"))
	for k, why := range map[string]string{
		"../secret.bin":     "not in the model's folder",
		secret:              "not in the model's folder",
		"a/../../x":         "not in the model's folder",
		"..":                "not in the model's folder",
		".":                 "not in the model's folder",
		"":                  "that file is not named",
		"..\\secret.bin":    "not in the model's folder",
		"C:secret.bin":      "not in the model's folder",
		"all.bin\x00":       "not in the model's folder",
		"link.bin":          "escapes",
		"relative.bin":      "escapes",
		"up/secret.bin":     "escapes",
		"nothing.bin":       "there is no file",
		"short.bin":         "15 bytes of data",
		pipe:                "not a regular file",
		"*/_ORT_MEM_ADDR_/": "there is no file",
	} {
		if k == pipe && pipe == "" {
			continue
		}
		if err := os.WriteFile(path, adding(outside("k", k)).Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readAll(path, Limits{}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", k, err, why)
		}
	}
	if err := os.WriteFile(path, adding(outside("k", "inside.bin")).Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if got, _, err := readAll(path, Limits{}); err != nil || len(got) != 4 {
		t.Errorf("a link inside the folder: %v, %v", got, err)
	}
	for _, not := range []string{dir, filepath.Join(dir, "ghost"), filepath.Join(dir, pipe)} {
		if _, err := Open(not, Limits{}); err == nil {
			t.Errorf("%s opened", not)
		}
	}
}

// Repeating a range must not multiply memory.
func TestExternalRanges(t *testing.T) {
	others := map[string][]byte{"all.bin": make([]byte, 4096)}
	for why, k := range map[string]onnxtest.Proto{
		"begin at byte 5000":          outside("k", "all.bin", "offset", "5000"),
		"end at byte 4088+16":         outside("k", "all.bin", "offset", "4088", "length", "16"),
		"8 bytes of data in":          outside("k", "all.bin", "length", "8"),
		`offset in another file is "`: outside("k", "all.bin", "offset", "-1"),
		`length in another file is "`: outside("k", "all.bin", "length", "9223372036854775808"),
		"a dimension of -1":           append(outside("k", "all.bin"), onnxtest.Proto{}.Varint(1, -1)...),
		"elements accepted":           append(outside("k", "all.bin"), onnxtest.Proto{}.Varint(1, 1<<20).Varint(1, 1<<20)...),
		"entries about another file":  outside("k", "all.bin", strings.Split(strings.Repeat("key,value,", 20)+"a,b", ",")...),
		"several segments":            append(outside("k", "all.bin"), onnxtest.Proto{}.Bytes(3, nil)...),
	} {
		if _, _, err := readAll(folder(t, adding(k).Bytes(), others), Limits{}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q", err, why)
		}
	}
	var many []onnxtest.Proto
	for i := range 1000 {
		k := onnxtest.Proto{}.Varint(1, 1024).Varint(2, onnxtest.Float).Text(8, fmt.Sprint("k", i)).
			Bytes(13, onnxtest.Proto{}.Text(1, "location").Text(2, "all.bin")).Varint(14, 1)
		many = append(many, k)
	}
	model := adding(many...).Bytes()
	path := folder(t, model, others)
	if _, _, err := readAll(path, Limits{Memory: 1 << 20}); err == nil || !strings.Contains(err.Error(), "the weights take more than") {
		t.Errorf("ranges that overlap: %v", err)
	}
	if _, _, err := readAll(path, Limits{FileBytes: int64(len(model)) + 4095}); err == nil || !strings.Contains(err.Error(), "bytes accepted") {
		t.Errorf("two files beyond the limit: %v", err)
	}
	// Read without a folder refuses it, as do nested tensors.
	if _, err := Read(adding(outside("k", "all.bin")).Bytes(), Limits{}, nil); err == nil || !strings.Contains(err.Error(), "in another file") {
		t.Error(err)
	}
	nested := adding().Node("Constant", nil, "k", onnxtest.Attributes{"value": outside("k", "all.bin")})
	if _, _, err := readAll(folder(t, nested.Bytes(), others), Limits{}); err == nil || !strings.Contains(err.Error(), "in another file") {
		t.Error(err)
	}
}

func TestGuardReportsShrinkingFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a system that lets a mapped file become shorter")
	}
	path := folder(t, adding(onnxtest.FloatTensor("k", make([]float32, 1<<16), 1<<16)).Bytes(), nil)
	f, err := Open(path, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := Read(f.Data, Limits{}, f.External)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	err = Guard(func() error {
		_, err := m.Graph.Constants[0].Floats()
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "became shorter") {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a panic of another kind disappeared")
		}
	}()
	_ = Guard(func() error { panic("another") })
}
