package main

import (
	"archive/zip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/model/rank"
)

const olderFiles = "testdata/older/files.zip"

// older writes the files of an earlier version into the current folder: see
// testdata/older/README.md.
func older(ts *testscript.TestScript, _ bool, _ []string) {
	z, err := zip.OpenReader(olderFiles)
	ts.Check(err)
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		ts.Check(err)
		b, err := io.ReadAll(r)
		ts.Check(err)
		name, plain := strings.CutSuffix(f.Name, ".plain")
		if plain {
			b = sealProfile(ts, b)
			if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != filepath.Base(name) {
				ts.Fatalf("%s has the digest %x", name, sum)
			}
		}
		path := ts.MkAbs(name)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		ts.Check(os.WriteFile(path, b, 0o600))
	}
}

// sealProfile encrypts a profile segment, stored as key, nonce, id of the index
// and plaintext, because ciphertexts cannot be compressed. Segments are named by
// their digest, which proves that the result has the bytes of that version.
func sealProfile(ts *testscript.TestScript, b []byte) []byte {
	key, nonce, id, plain := b[:32], b[32:44], b[44:60], b[60:]
	block, err := aes.NewCipher(key)
	ts.Check(err)
	gcm, err := cipher.NewGCM(block)
	ts.Check(err)
	return gcm.Seal(slices.Clone(nonce), nonce, plain, append([]byte("cpar/v1/fitted"), id...))
}

// sameAnswers compares the keywords of two runs of annotate --json. Distances
// have noise, so figures may differ a little.
func sameAnswers(ts *testscript.TestScript, _ bool, args []string) {
	then, now := answersOf(ts, args[0]), answersOf(ts, args[1])
	if len(then) == 0 || len(then) != len(now) {
		ts.Fatalf("%d photos, and %d before", len(now), len(then))
	}
	for i, before := range then {
		after := now[i]
		for _, list := range [][]rank.Keyword{before.Keywords, after.Keywords} {
			slices.SortFunc(list, func(a, b rank.Keyword) int { return strings.Compare(a.Word, b.Word) })
		}
		same := slices.EqualFunc(before.Keywords, after.Keywords, func(a, b rank.Keyword) bool {
			return a.Word == b.Word && math.Abs(a.Probability-b.Probability) < 0.02 && math.Abs(a.Weight-b.Weight) < 0.05
		})
		if filepath.Base(before.Photo) != filepath.Base(after.Photo) || len(before.Keywords) == 0 || !same {
			ts.Fatalf("%s has %v, and %s had %v", after.Photo, after.Keywords, before.Photo, before.Keywords)
		}
	}
}

func answersOf(ts *testscript.TestScript, file string) (all []annotated) {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	for dec.More() {
		var a annotated
		ts.Check(dec.Decode(&a))
		all = append(all, a)
	}
	return all
}
