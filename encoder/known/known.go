// Package known identifies public networks by their digest, so that users need
// not configure preprocessing.
//
//	SHA-256 of a model file ─▶ ByDigest ─▶ preprocessing, layout, licence, origin
//
// The rows of known.csv describe files in github.com/onnx/models at commit
// b1eeaa1ac722dcc1cd1a8284bde34393dab61c3d (2025-06-27). Digests and sizes come
// from its LFS pointers, preprocessing and licences from each network's README
// there or from timm's configurations and model cards. The project ran none of
// the files with its row. A configuration file or a flag overrides a row.
//
// CLIP, SigLIP and DINOv2 have no rows: their files come with a preprocessing
// configuration (package prepare), and no digest is certain.
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

// A Model is a public network.
type Model struct {
	Name    string // File without .onnx
	File    string
	Source  string // repository and path, as owner/name:path
	Licence string // SPDX name
	Digest  [32]byte
	Bytes   int64
	NHWC    bool // input in the order row, column, channel
	Size    int  // side of the input in pixels

	Preprocessing prepare.Preprocessing
}

// Zoo holds the files of github.com/onnx/models since 2025, under their
// original paths. It has not been tried.
const Zoo = "https://huggingface.co/onnxmodelzoo/legacy_models"

// Address returns the expected address of the file. The download is checked
// against the digest.
func (m Model) Address() string {
	_, path, _ := strings.Cut(m.Source, ":")
	return Zoo + "/resolve/main/" + path
}

//go:embed known.csv
var table []byte

// List returns the known networks in the order of the table.
func List() []Model { return slices.Clone(models()) }

// ByDigest finds a network by the SHA-256 of its file.
func ByDigest(d [32]byte) (Model, bool) {
	for _, m := range models() {
		if m.Digest == d {
			return m, true
		}
	}
	return Model{}, false
}

var models = sync.OnceValue(func() []Model {
	list, err := read(table)
	if err != nil {
		panic(err) // the table is embedded
	}
	return list
})

// read parses a table with the columns file, source, sha256, bytes, input,
// resize, crop, interpolation, mean, std, range, licence.
func read(table []byte) (list []Model, err error) {
	r := csv.NewReader(bytes.NewReader(table))
	rows, err := r.ReadAll()
	if err == nil && len(rows) == 0 {
		err = errors.New("no heading")
	}
	if err != nil {
		return nil, fmt.Errorf("reading known networks: %w", err)
	}
	for _, row := range rows[1:] {
		m, err := readRow(row)
		if err != nil {
			return nil, fmt.Errorf("reading known networks: %s: %w", row[0], err)
		}
		list = append(list, m)
	}
	return list, nil
}

func readRow(row []string) (m Model, err error) {
	m = Model{Name: strings.TrimSuffix(row[0], ".onnx"), File: row[0], Source: row[1], Licence: row[11]}
	digest, err := hex.DecodeString(row[2])
	if err != nil || len(digest) != len(m.Digest) {
		return m, fmt.Errorf("digest %q", row[2])
	}
	m.Digest = [32]byte(digest)
	if m.Bytes, err = strconv.ParseInt(row[3], 10, 64); err != nil {
		return m, err
	}
	layout, side, _ := strings.Cut(row[4], " ")
	if m.NHWC = layout == "NHWC"; !m.NHWC && layout != "NCHW" {
		return m, fmt.Errorf("layout %q", layout)
	}
	if m.Size, err = strconv.Atoi(side); err != nil {
		return m, err
	}
	// ReadConfig validates the row like a user's configuration file.
	scale := map[string]string{"0-1": "0.00392156862745098", "0-255": "1"}[row[10]]
	numbers := func(s string) string { return "[" + strings.Join(strings.Fields(s), ", ") + "]" }
	m.Preprocessing, _, err = prepare.ReadConfig(fmt.Appendf(nil, `{"size": %s, "resize": "crop", "shorter": %s, "interpolation": %q, "mean": %s, "std": %s, "scale": %s}`,
		row[6], row[5], row[7], numbers(row[8]), numbers(row[9]), scale), m.Size, m.Size)
	return m, err
}
