package photoprism

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cpar"
	"cpar/internal/hint"
)

// ReadToken reads the bearer key from a file.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the service's key: %w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", fmt.Errorf("reading the service's key: %w: %w", cpar.ErrInput, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// CheckToken rejects keys that are easy to guess or not valid in a header.
func CheckToken(token string) error {
	plain := !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(token) >= 16 && plain {
		return nil
	}
	return hint.Add(fmt.Errorf("reading the service's key: %w: it has fewer than 16 characters, or others than letters, digits and signs", cpar.ErrInput),
		"let cpar make one: leave out --token-file and CPAR_VISION_TOKEN")
}

// MadeToken reads the key from a file, or creates one readable by its owner
// only.
func MadeToken(path string) (token string, made bool, err error) {
	token, err = ReadToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	var b [24]byte
	rand.Read(b[:])
	token = hex.EncodeToString(b[:])
	if err := writeToken(path, token); err != nil {
		return "", false, fmt.Errorf("keeping the service's key: %w: %w", cpar.ErrStorage, err)
	}
	return token, true, nil
}

func writeToken(path, token string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(token + "\n")
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
