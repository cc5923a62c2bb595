package blob_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cpar"
	"cpar/cloud/blob"
	"cpar/internal/hint"
)

func TestAddresses(t *testing.T) {
	all := blob.Options{Credential: func(name string) string { return "AAAA" }}
	for _, good := range []string{
		"s3://photos", "s3://photos/", "s3://my.photos-1/a/b_c/d.e?region=eu-central-1", "s3://photos/a?endpoint=https://s3.example&path-style=false",
		"s3://photos?endpoint=http://127.0.0.1:9000", "s3://photos?endpoint=http://[::1]:9000/", "s3://photos?endpoint=http://nas:9000&insecure-http=true",
		"gs://photos/a", "azblob://photos/a", "azblob://photos?endpoint=https://storage.example/account",
	} {
		if _, err := blob.Open(good, all); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "photos", "/srv/photos", "s3:photos", "s3://", "s3:///a", "S3://PHOTOS", "file:///a", "s3://photos/../x", "s3://photos/a/./b", "s3://photos/a b",
		"s3://photos/a%2Fb%3F", "s3://AKIA:hidden@photos", "s3://photos?endpoint=http://nas:9000", "s3://photos?endpoint=http://nas:9000&insecure-http=false",
		"s3://photos?endpoint=ftp://nas", "s3://photos?endpoint=nas:9000", "s3://photos?endpoint=https://user:hidden@nas", "s3://photos?endpoint=https://nas/?x=1",
		"s3://photos?region=a&region=b", "s3://photos?colour=red", "gs://photos?region=x", "azblob://photos?path-style=true", "s3://photos?path-style=perhaps", "\x00",
	} {
		_, err := blob.Open(bad, all)
		if !errors.Is(err, cpar.ErrInput) || strings.Contains(err.Error(), "hidden") || hint.Of(err) == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, address := range []string{"s3://photos", "gs://photos", "azblob://photos"} {
		if _, err := blob.Open(address, blob.Options{}); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "environment") {
			t.Errorf("%s without credentials: %v", address, err)
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "of the environment")
	get, err := blob.Credentials("")
	if err != nil || get("AWS_ACCESS_KEY_ID") != "of the environment" {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "credentials")
	os.WriteFile(file, []byte("# ours\n\nAWS_ACCESS_KEY_ID=one\nexport AWS_SECRET_ACCESS_KEY = \"t=w o\"\nHOME=/x\n"), 0o600)
	get, err = blob.Credentials(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"AWS_ACCESS_KEY_ID": "one", "AWS_SECRET_ACCESS_KEY": "t=w o", "AWS_SESSION_TOKEN": "", "HOME": ""} {
		if got := get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, bad := range []string{"hidden\n", "=hidden", strings.Repeat("#hidden\n", 10_000)} {
		os.WriteFile(file, []byte(bad), 0o600)
		if _, err := blob.Credentials(file); !errors.Is(err, cpar.ErrInput) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if _, err := blob.Credentials(file + "x"); !errors.Is(err, cpar.ErrStorage) {
		t.Error(err)
	}
	if runtime.GOOS != "windows" {
		os.Chmod(file, 0o640)
		if _, err := blob.Credentials(file); !errors.Is(err, cpar.ErrInput) || !strings.Contains(hint.Of(err), "chmod 600") {
			t.Errorf("a file that others may read: %v", err)
		}
	}
}
