package known

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"cpar/encoder/prepare"
	"cpar/internal/testing/oracle"
)

func TestListHoldsTwelveNetworks(t *testing.T) {
	list := List()
	if len(list) != 12 {
		t.Fatalf("%d networks", len(list))
	}
	names := map[string]bool{}
	for _, m := range list {
		name, images, ok := ByDigest(m.Digest)
		if !ok || name != m.Name || images != m.Images {
			t.Errorf("%s: %s, %+v, %v", m.File, name, images, ok)
		}
		p := m.Preprocessing
		if names[m.Name] || m.Licence == "" || m.Bytes < 1e6 || m.Size != 224 || p.Width != 224 || p.Height != 224 || p.Resize != prepare.ResizeCrop ||
			p.Color != prepare.RGB || !strings.HasPrefix(m.Source, "onnx/models:") || !strings.HasSuffix(m.Source, "/"+m.File) {
			t.Errorf("%+v", m)
		}
		names[m.Name] = true
	}
	if _, _, ok := ByDigest(sha256.Sum256(nil)); ok {
		t.Error("an empty file is known")
	}
	for _, m := range list {
		p, _ := prepare.Preset("imagenet", 224)
		switch m.Name {
		case "mobilenetv2-12":
		case "efficientnet-lite4-11":
			p.Scale, p.Mean, p.Std = 1, [3]float64{127, 127, 127}, [3]float64{128, 128, 128}
		case "deit_small_distilled_patch16_224_Opset18":
			p.Shorter, p.Interpolation = 248, prepare.Bicubic
		default:
			continue
		}
		if m.Preprocessing != p || m.NHWC != (m.Name == "efficientnet-lite4-11") {
			t.Errorf("%s: %+v, want %+v", m.Name, m, p)
		}
	}
	if a := list[0].Address(); a != "https://huggingface.co/onnxmodelzoo/legacy_models/resolve/main/validated/vision/classification/mobilenet/model/mobilenetv2-10.onnx" {
		t.Error(a)
	}
}

// The supplied table has no licences and omits the supplied network.
func TestTableMatchesSuppliedOne(t *testing.T) {
	f, err := os.Open(oracle.Path(t, "models/known.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) != 13 {
		t.Fatal(len(rows), err)
	}
	for i, row := range rows[1:] {
		digest, err := hex.DecodeString(row[2])
		if err != nil {
			t.Fatal(err)
		}
		name, _, ok := ByDigest([32]byte(digest))
		if m := List()[i]; !ok || m.File != row[0] || m.Name != name {
			t.Errorf("%v: %s, %+v, %v", row, name, m, ok)
		}
	}
	data, err := os.ReadFile(oracle.Path(t, "models/mobilenet_v2_1.0_224.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if name, _, ok := ByDigest(sha256.Sum256(data)); ok {
		t.Errorf("the network handed over, whose metadata say all, is taken for %s", name)
	}
}

func TestBadTables(t *testing.T) {
	good := string(modelTable)
	for _, change := range [][2]string{{"0e7c0aa4", "zz"}, {"13963115", "many"}, {"NCHW 224", "CHWN 224"}, {"NCHW 224", "NCHW"}, {",256,224,", ",100,224,"}, {"bilinear", "nearest"}, {"0-1", "0-2"}, {",0-1,", ","}, {"file,", "\"file,"}} {
		if list, err := readModels([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%v: %+v", change, list)
		}
	}
	if _, err := readModels(nil); err == nil {
		t.Error("an empty table was taken")
	}
}

// Every row of the sets is in the supplied table, which lists the sources.
func TestSetsMatchSuppliedTable(t *testing.T) {
	data, err := os.ReadFile(oracle.Path(t, "models/encoders.csv"))
	if err != nil {
		t.Fatal(err)
	}
	supplied, err := readTable(data)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readTable(setTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		i := slices.IndexFunc(supplied, func(s row) bool { return s["sha256"] == r["sha256"] && s["url"] == r["url"] })
		if i < 0 {
			t.Errorf("%s, %s: it is not supplied", r["set"], r["part"])
			continue
		}
		for name, value := range r {
			if s := supplied[i][name]; name != "set" && s != value && !(name == "licence" && strings.HasPrefix(s, value+" (")) {
				t.Errorf("%s, %s: %s is %q, want %q", r["set"], r["part"], name, value, s)
			}
		}
	}
}

func TestSetsAreComplete(t *testing.T) {
	want := map[string][]string{
		"clip-b32": {"image", "text", "tokenizer", "preprocessing"}, "clip-b32-fp16": {"image", "text", "tokenizer", "preprocessing"},
		"clip-b32-laion2b": {"image", "text", "vocab", "merges"}, "siglip-b16": {"image", "text", "tokenizer"},
		"siglip2-b16-fp16": {"image", "preprocessing"}, "dinov2-small": {"image"},
	}
	got := map[string][]string{}
	for _, s := range Sets() {
		for _, f := range s.Files {
			got[s.Name] = append(got[s.Name], f.Part)
			if !strings.HasPrefix(f.Address, "https://huggingface.co/") || !strings.Contains(f.Address, "/resolve/") || f.Bytes < 100 {
				t.Errorf("%s: %+v", s.Name, f)
			}
		}
		preset := map[string]string{"clip": "clip", "sigl": "siglip", "dino": "dinov2"}[s.Name[:4]]
		p, err := prepare.Preset(preset, 224)
		if s.Name == "siglip2-b16-fp16" {
			p.Interpolation = prepare.Bilinear
		}
		if name, images, ok := ByDigest(s.Files[0].Digest); err != nil || !ok || name != s.Name || images.Preprocessing != p {
			t.Errorf("%s: %+v, want %+v", name, images, p)
		}
		if s.Licence != "MIT" && s.Licence != "Apache-2.0" || s.Bytes() < 50e6 {
			t.Errorf("%s: licence %s, %d bytes", s.Name, s.Licence, s.Bytes())
		}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBadSets(t *testing.T) {
	good := string(setTable)
	for _, change := range [][2]string{{"fd6e1402", "zz"}, {"351685709", "many"}, {"clip-b32,text,", "clip-b32,video,"}, {"NCHW 224", "NCHW"}, {"set,", "\"set,"}} {
		if list, err := ReadSets([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%v: %+v", change, list)
		}
	}
}
