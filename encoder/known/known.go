// Package known identifies public networks by their digest, so that users need
// not configure preprocessing. It also lists sets of files to download.
//
//	SHA-256 of a model file ─▶ ByDigest ─▶ preprocessing
//	name ─▶ Sets ─▶ image half, text half, tokenizer, preprocessing: address, digest, licence
//
// The rows of known.csv describe files in github.com/onnx/models at commit
// b1eeaa1ac722dcc1cd1a8284bde34393dab61c3d (2025-06-27). Digests and sizes come
// from the repository's Git LFS pointers. Preprocessing and licences come from
// each network's README there or from timm's configurations and model cards.
//
// The rows of sets.csv describe files on huggingface.co at fixed commits. At
// least two projects published each digest. The preprocessing in both tables
// was not tested with the files. A configuration file or a flag overrides it.
package known

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cpar/encoder/prepare"
)

// A Model is a public network of the ONNX model zoo.
type Model struct {
	Name    string // field File without .onnx
	File    string
	Source  string // repository and path, as owner/name:path
	Licence string // SPDX name
	Digest  [32]byte
	Bytes   int64
	Images
}

// Images describes the images that a network takes.
type Images struct {
	NHWC          bool // whether the order is row, column, channel, otherwise channel first
	Size          int  // side in pixels
	Preprocessing prepare.Preprocessing
}

// A Set holds files that belong together. The image half of one set does not
// fit the text half of another.
type Set struct {
	Name, Licence string
	Files         []File // the image half first
	Images               // images that the image half takes
}

// A File is a part of a set.
type File struct {
	Part    string // image, text, tokenizer, vocab, merges or preprocessing
	Name    string // name in the set's folder, by which other packages find the file
	Address string
	Digest  [32]byte
	Bytes   int64
}

func (s Set) File(part string) (File, bool) {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Part == part })
	if i < 0 {
		return File{}, false
	}
	return s.Files[i], true
}

func (s Set) Bytes() (n int64) {
	for _, f := range s.Files {
		n += f.Bytes
	}
	return n
}

// Zoo is the address to which the files of github.com/onnx/models moved in
// 2025, under their original paths. No download from it has been tried.
const Zoo = "https://huggingface.co/onnxmodelzoo/legacy_models"

// Address returns the expected address of the file. A download is checked
// against Digest.
func (m Model) Address() string {
	_, path, _ := strings.Cut(m.Source, ":")
	return Zoo + "/resolve/main/" + path
}

//go:embed known.csv
var modelTable []byte

//go:embed sets.csv
var setTable []byte

func List() []Model { return slices.Clone(models()) }

func Sets() []Set { return slices.Clone(sets()) }

// ByDigest finds a model, or the image half of a set, by the SHA-256 of its file.
func ByDigest(d [32]byte) (name string, images Images, ok bool) {
	for _, m := range models() {
		if m.Digest == d {
			return m.Name, m.Images, true
		}
	}
	for _, s := range sets() {
		if s.Files[0].Digest == d {
			return s.Name, s.Images, true
		}
	}
	return "", Images{}, false
}

var (
	models = sync.OnceValue(func() []Model { return embedded(readModels(modelTable)) })
	sets   = sync.OnceValue(func() []Set { return embedded(ReadSets(setTable)) })
)

func embedded[T any](list []T, err error) []T {
	if err != nil {
		panic(err) // the tables are tested
	}
	return list
}

func readModels(table []byte) (list []Model, err error) {
	rows, err := readTable(table)
	for _, r := range rows {
		m := Model{Name: strings.TrimSuffix(r["file"], ".onnx"), File: r["file"], Source: r["source"], Licence: r["licence"]}
		if m.Digest, m.Bytes, err = r.identity(); err == nil {
			m.Images, err = r.images()
		}
		if err != nil {
			return nil, fmt.Errorf("reading known networks: %s: %w", m.File, err)
		}
		list = append(list, m)
	}
	return list, err
}

// names maps each part to the file name that packages prepare and zeroshot look
// for beside a network.
var names = map[string]string{"image": "image.onnx", "text": "text.onnx", "tokenizer": "tokenizer.json", "vocab": "vocab.json", "merges": "merges.txt",
	"preprocessing": "preprocessor_config.json"}

// ReadSets parses a table of sets. The rows of a set must be adjacent.
func ReadSets(table []byte) (list []Set, err error) {
	rows, err := readTable(table)
	for _, r := range rows {
		f := File{Part: r["part"], Name: names[r["part"]], Address: r["url"]}
		if f.Digest, f.Bytes, err = r.identity(); err == nil && f.Name == "" {
			err = fmt.Errorf("unknown part %q", f.Part)
		}
		last := len(list) - 1
		if last < 0 || list[last].Name != r["set"] {
			s := Set{Name: r["set"], Licence: r["licence"], Files: []File{f}}
			if err == nil {
				s.Images, err = r.images()
			}
			list = append(list, s)
		} else {
			list[last].Files = append(list[last].Files, f)
		}
		if err != nil {
			return nil, fmt.Errorf("reading sets of networks: %s: %w", r["set"], err)
		}
	}
	return list, err
}

// A row maps the names of the columns to the values of a line.
type row map[string]string

func readTable(table []byte) (rows []row, err error) {
	lines, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err == nil && len(lines) == 0 {
		err = errors.New("no heading")
	}
	if err != nil {
		return nil, fmt.Errorf("reading known networks: %w", err)
	}
	for _, line := range lines[1:] {
		r := row{}
		for i, name := range lines[0] {
			r[name] = line[i]
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (r row) identity() (digest [32]byte, size int64, err error) {
	b, err := hex.DecodeString(r["sha256"])
	if err != nil || len(b) != len(digest) {
		return digest, 0, fmt.Errorf("invalid digest %q", r["sha256"])
	}
	size, err = strconv.ParseInt(r["bytes"], 10, 64)
	return [32]byte(b), size, err
}

// images reads the columns input, resize, crop, interpolation, mean, std and
// range.
func (r row) images() (i Images, err error) {
	layout, side, _ := strings.Cut(r["input"], " ")
	if i.NHWC = layout == "NHWC"; !i.NHWC && layout != "NCHW" {
		return i, fmt.Errorf("unknown layout %q", layout)
	}
	if i.Size, err = strconv.Atoi(side); err != nil {
		return i, err
	}
	resize := fmt.Sprintf(`"size": %s, "resize": "crop", "shorter": %s`, r["crop"], r["resize"])
	if r["crop"] == "none" {
		resize = fmt.Sprintf(`"size": %s, "resize": "whole"`, side)
	}
	// Let ReadConfig validate the row like a user's configuration file.
	scale := map[string]string{"0-1": "0.00392156862745098", "0-255": "1"}[r["range"]]
	numbers := func(s string) string { return "[" + strings.Join(strings.Fields(s), ", ") + "]" }
	i.Preprocessing, _, err = prepare.ReadConfig(fmt.Appendf(nil, `{%s, "interpolation": %q, "mean": %s, "std": %s, "scale": %s}`,
		resize, r["interpolation"], numbers(r["mean"]), numbers(r["std"]), scale), i.Size, i.Size)
	return i, err
}
