package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/encoder/known"
	"cpar/internal/testing/onnxtest"
)

type message []byte

func (m message) number(field int, v uint64) message {
	m = binary.AppendUvarint(m, uint64(field)<<3)
	return binary.AppendUvarint(m, v)
}

func (m message) bytes(field int, b []byte) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|2)
	return append(binary.AppendUvarint(m, uint64(len(b))), b...)
}

func (m message) text(field int, s string) message { return m.bytes(field, []byte(s)) }

// tinyModel is one convolution from 1×3×16×16 to 1×64 by 4×4 patches, with
// random weights.
func tinyModel(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	var weights []byte
	for range 4 * 3 * 4 * 4 {
		weights = binary.LittleEndian.AppendUint32(weights, math.Float32bits(float32(rng.NormFloat64())))
	}
	value := func(name string, dims ...uint64) message {
		var shape message
		for _, d := range dims {
			shape = shape.bytes(1, message{}.number(1, d))
		}
		return message{}.text(1, name).bytes(2, message{}.bytes(1, message{}.number(1, 1).bytes(2, shape)))
	}
	sides := func(name string) message {
		return message{}.text(1, name).number(8, 4).number(8, 4).number(20, 7)
	}
	tensor := message{}.number(1, 4).number(1, 3).number(1, 4).number(1, 4).number(2, 1).text(8, "weights").bytes(9, weights)
	graph := message{}.
		bytes(1, message{}.text(1, "image").text(1, "weights").text(2, "patches").text(4, "Conv").bytes(5, sides("kernel_shape")).bytes(5, sides("strides"))).
		bytes(1, message{}.text(1, "patches").text(2, "embedding").text(4, "Flatten")).
		text(2, "tiny").bytes(5, tensor).bytes(11, value("image", 1, 3, 16, 16)).bytes(12, value("embedding", 1, 64))
	m := message{}.number(1, 7).bytes(7, graph).bytes(8, message{}.text(1, "").number(2, 13))
	for key, v := range map[string]string{"input_mean": "127.5", "input_scale": "127.5"} {
		m = m.bytes(14, message{}.text(1, key).text(2, v))
	}
	return m
}

func writeModel(ts *testscript.TestScript, _ bool, args []string) {
	var seed uint64
	_, err := fmt.Sscan(args[1], &seed)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), tinyModel(seed), 0o600))
}

// writeNetwork writes a network of one unknown operator with these inputs and
// outputs, as NAME:TYPE:DIMENSIONS before and after "to".
func writeNetwork(ts *testscript.TestScript, _ bool, args []string) {
	f := onnxtest.Empty(13)
	var in []string
	outputs := false
	for _, arg := range args[1:] {
		if arg == "to" {
			outputs = true
			continue
		}
		parts := strings.Split(arg, ":")
		var dims []int64
		ts.Check(json.Unmarshal([]byte("["+parts[2]+"]"), &dims))
		elements := map[string]int64{"float": onnxtest.Float, "int64": onnxtest.Int64}[parts[1]]
		if outputs {
			f.NodeOf("Anything", in, []string{parts[0]}, nil).OutputOf(parts[0], elements, dims...)
		} else {
			f.Input(parts[0], elements, dims...)
			in = append(in, parts[0])
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), f.Bytes(), 0o600))
}

func writeSets(ts *testscript.TestScript, _ bool, args []string) {
	table := "set,part,url,sha256,bytes,input,resize,crop,interpolation,mean,std,range,licence\n"
	for _, part := range args[2:] {
		part, file, _ := strings.Cut(part, "=")
		data := ts.ReadFile(file)
		table += fmt.Sprintf("%s,%s,%s/%s,%x,%d,NCHW 16,16x16,none,bilinear,0.5 0.5 0.5,0.5 0.5 0.5,0-1,MIT\n",
			args[1], part, ts.Getenv("FILES"), filepath.Base(file), sha256.Sum256([]byte(data)), len(data))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(table), 0o600))
}

func storySets(file string) []known.Set {
	table, err := os.ReadFile(file)
	sets, err2 := known.ReadSets(table)
	if err := errors.Join(err, err2); err != nil {
		panic(err)
	}
	return sets
}
