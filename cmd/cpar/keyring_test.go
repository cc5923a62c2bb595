package main

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zalando/go-keyring"
)

// storyKeyring outlives a process, as a system's keyring does. A missing folder
// means that no keyring is available.
type storyKeyring string

func (k storyKeyring) file(service, name string) string {
	return filepath.Join(string(k), hex.EncodeToString([]byte(service+"/"+name)))
}

func (k storyKeyring) Set(service, name, secret string) error {
	return os.WriteFile(k.file(service, name), []byte(secret), 0o600)
}

func (k storyKeyring) Get(service, name string) (string, error) {
	if _, err := os.Stat(string(k)); err != nil {
		return "", err
	}
	b, err := os.ReadFile(k.file(service, name))
	if errors.Is(err, fs.ErrNotExist) {
		err = keyring.ErrNotFound
	}
	return string(b), err
}

func (k storyKeyring) Delete(service, name string) error {
	err := os.Remove(k.file(service, name))
	if errors.Is(err, fs.ErrNotExist) {
		err = keyring.ErrNotFound
	}
	return err
}
