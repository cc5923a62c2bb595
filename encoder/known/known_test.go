package known

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"os"
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
		found, ok := ByDigest(m.Digest)
		if !ok || found != m {
			t.Errorf("%s: %+v, %v", m.File, found, ok)
		}
		p := m.Preprocessing
		if names[m.Name] || m.Licence == "" || m.Bytes < 1e6 || m.Size != 224 || p.Width != 224 || p.Height != 224 || p.Resize != prepare.ResizeCrop ||
			p.Color != prepare.RGB || !strings.HasPrefix(m.Source, "onnx/models:") || !strings.HasSuffix(m.Source, "/"+m.File) {
			t.Errorf("%+v", m)
		}
		names[m.Name] = true
	}
	if _, ok := ByDigest(sha256.Sum256(nil)); ok {
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
		m, ok := ByDigest([32]byte(digest))
		if !ok || m.File != row[0] || List()[i] != m {
			t.Errorf("%v: %+v, %v", row, m, ok)
		}
	}
	data, err := os.ReadFile(oracle.Path(t, "models/mobilenet_v2_1.0_224.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := ByDigest(sha256.Sum256(data)); ok {
		t.Errorf("the network handed over, whose metadata say all, is taken for %s", m.Name)
	}
}

func TestBadTables(t *testing.T) {
	good := string(table)
	for _, change := range [][2]string{{"0e7c0aa4", "zz"}, {"13963115", "many"}, {"NCHW 224", "CHWN 224"}, {"NCHW 224", "NCHW"}, {",256,224,", ",100,224,"}, {"bilinear", "nearest"}, {"0-1", "0-2"}, {",0-1,", ","}, {"file,", "\"file,"}} {
		if list, err := read([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%v: %+v", change, list)
		}
	}
	if _, err := read(nil); err == nil {
		t.Error("an empty table was taken")
	}
}
