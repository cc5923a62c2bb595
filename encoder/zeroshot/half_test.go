package zeroshot

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/hint"
	"cpar/internal/testing/oracle"
)

type message []byte

func (m message) number(field int, v uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), v)
}

func (m message) bytes(field int, b []byte) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|2)
	return append(binary.AppendUvarint(m, uint64(len(b))), b...)
}

func (m message) text(field int, s string) message { return m.bytes(field, []byte(s)) }

const whole, floating = 7, 1 // element types

// A length of 0 is open.
func port(name string, kind uint64, dims ...uint64) message {
	var shape message
	for _, d := range dims {
		dim := message{}.number(1, d)
		if d == 0 {
			dim = message{}.text(2, "open")
		}
		shape = shape.bytes(1, dim)
	}
	return message{}.text(1, name).bytes(2, message{}.bytes(1, message{}.number(1, kind).bytes(2, shape)))
}

// lookUp is a text half that averages vectors of 4 values from a table of n
// rows.
func lookUp(n int, output string, inputs, outputs []message) []byte {
	var raw []byte
	for i := range 4 * n {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(math.Sin(float64(i)))))
	}
	axes := message{}.text(1, "axes").number(8, 1).number(20, 7)
	keep := message{}.text(1, "keepdims").number(3, 0).number(20, 2)
	graph := message{}.
		bytes(1, message{}.text(1, "table").text(1, "ids").text(2, "vectors").text(4, "Gather")).
		bytes(1, message{}.text(1, "vectors").text(2, output).text(4, "ReduceMean").bytes(5, axes).bytes(5, keep)).
		text(2, "text").bytes(5, message{}.number(1, uint64(n)).number(1, 4).number(2, 1).text(8, "table").bytes(9, raw))
	for _, in := range inputs {
		graph = graph.bytes(11, in)
	}
	for _, out := range outputs {
		graph = graph.bytes(12, out)
	}
	return message{}.number(1, 7).bytes(7, graph).bytes(8, message{}.text(1, "").number(2, 13))
}

func TestTextModelEmbedsTexts(t *testing.T) {
	dir := t.TempDir()
	open := func(data []byte) (*TextModel, error) {
		write(t, dir, "text.onnx", data)
		return Open(filepath.Join(dir, "text.onnx"), testVocabulary)
	}
	vector := port("text_embeds", floating, 1, 4)
	h, err := open(lookUp(49408, "text_embeds", []message{port("ids", whole, 1, 77)}, []message{vector}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.Text("a cat")
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range got {
		want := 0.0
		for _, id := range append([]int{49406, 320, 2368, 49407}, make([]int, 73)...) {
			want += math.Sin(float64(4*id+k)) / 77
		}
		if math.Abs(want-float64(v)) > 1e-6 {
			t.Errorf("%v at %d, want %g", got, k, want)
		}
	}
	// The file fixes the length, so long and short texts use one network.
	if _, err := h.Text(strings.Repeat("cat ", 40)); err != nil || len(h.programs) != 1 {
		t.Errorf("%v; %d networks", err, len(h.programs))
	}
	if _, err := h.Text(strings.Repeat("cat ", 80)); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("a text that is too long: %v", err)
	}
	digest := h.Digest()
	h.Close()
	h, err = open(lookUp(49408, "text_embeds", []message{port("ids", whole, 0, 0), port("attention_mask", whole, 0, 0)}, []message{vector}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Text("a cat"); err != nil || h.Digest() == digest {
		t.Errorf("an open length: %v; the digest is that of another file: %v", err, h.Digest() == digest)
	}
	if len(h.programs) != 2 || h.programs[0].length != shortLength || h.programs[1].length != clipLength || h.in.mask != "attention_mask" {
		t.Errorf("programs %v, inputs %v", h.programs, h.in)
	}
	h.Close()
}

// TestOpenRefusesOtherModels checks that the error gives the reason.
func TestOpenRefusesOtherModels(t *testing.T) {
	dir := t.TempDir()
	ids, vector := port("ids", whole, 1, 77), port("out", floating, 1, 4)
	for name, c := range map[string]struct {
		data       []byte
		want, hint string
	}{
		"no ONNX":          {[]byte("junk"), "loading the text half", ""},
		"an image half":    {lookUp(9, "out", []message{port("ids", floating, 1, 3, 224, 224)}, []message{vector}), "it takes no tokens", "image half is --model"},
		"two texts":        {lookUp(9, "out", []message{ids, port("other", whole, 1, 77)}, []message{vector}), `takes "ids" and "other"`, ""},
		"many at once":     {lookUp(9, "out", []message{port("ids", whole, 8, 77)}, []message{vector}), "one list of tokens", ""},
		"endless texts":    {lookUp(9, "out", []message{port("ids", whole, 1, 1<<20)}, []message{vector}), "1048576 tokens", ""},
		"other tokens":     {lookUp(9, "out", []message{ids}, []message{vector}), "running the text half", ""},
		"not projected":    {lookUp(49408, "pooler_output", []message{ids}, []message{port("pooler_output", floating, 1, 4)}), "not projected", "CLIPTextModelWithProjection"},
		"no vector":        {lookUp(49408, "out", []message{ids}, []message{port("vectors", floating, 1, 77, 4)}), "none of its outputs", ""},
		"another operator": {[]byte(strings.Replace(string(lookUp(49408, "out", []message{ids}, []message{vector})), "Gather", "Gothic", 1)), "Gothic", ""},
	} {
		write(t, dir, "text.onnx", c.data)
		h, err := Open(filepath.Join(dir, "text.onnx"), testVocabulary)
		if err == nil {
			_, err = h.Text("a cat")
			h.Close()
		}
		if !errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.hint) {
			t.Errorf("%s: %v (%s); want %q", name, err, hint.Of(err), c.want)
		}
	}
	if _, err := Open(filepath.Join(dir, "none.onnx"), testVocabulary); !errors.Is(err, cpar.ErrInput) {
		t.Errorf("no file: %v", err)
	}
}

// TestTextHalves uses exported CLIP text halves, whose values encoder/graphs
// compares with ONNX Runtime. With an open length, 16 and 77 tokens give equal
// vectors.
func TestTextHalves(t *testing.T) {
	folder := oracle.Named(t, "CPAR_GRAPHS")
	// Their vocabulary is small, so the tokenizer has bytes only.
	dir := t.TempDir()
	vocabulary := map[string]int64{clipFrom: 998, clipTo: 999}
	for i, r := range byteRunes() {
		vocabulary[string(r)], vocabulary[string(r)+wordEnd] = int64(2*i), int64(2*i+1)
	}
	b, err := json.Marshal(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, vocabJSON, b)
	write(t, dir, mergesText, nil)
	files, err := filepath.Glob(filepath.Join(folder, "text_*.onnx"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d text halves, %v", len(files), err)
	}
	for _, file := range append(files, filepath.Join(folder, "clip_hf_pair.onnx")) {
		if strings.HasSuffix(file, ".rows.onnx") {
			continue
		}
		h, err := Open(file, dir)
		if err != nil {
			t.Error(filepath.Base(file), err)
			continue
		}
		one, err := h.Text("a cat")
		if err != nil || len(one) != 64 {
			t.Error(filepath.Base(file), err, len(one))
			h.Close()
			continue
		}
		short := h.programs[0]
		p, err := short.compile()
		if err != nil {
			t.Fatal(err)
		}
		h.programs = h.programs[len(h.programs)-1:]
		all, err := h.Text("a cat")
		other, errOther := h.Text("a dog")
		if err != nil || errOther != nil {
			t.Error(filepath.Base(file), err, errOther)
			h.Close()
			continue
		}
		a, _ := normalised(one)
		b, _ := normalised(all)
		c, _ := normalised(other)
		if dot(a, b) < 1-1e-5 || dot(a, c) > 1-1e-5 {
			t.Errorf("%s: a text in %d tokens and in 77 have cosine %g, two texts %g", filepath.Base(file), short.length, dot(a, b), dot(a, c))
		}
		t.Logf("%s: %s, %d tokens, cosine %.7f", filepath.Base(file), p.output, short.length, dot(a, b))
		h.Close()
	}
}
