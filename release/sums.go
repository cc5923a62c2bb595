package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// keys contains the names of files with the maintainer's private keys, or "".
type keys struct{ minisign, rpm, apk string }

func (k *keys) add(f *flag.FlagSet) {
	f.StringVar(&k.minisign, "minisign-key", os.Getenv("CPAR_MINISIGN_KEY"), "`file` with the minisign key that signs SHA256SUMS ($CPAR_MINISIGN_KEY)")
	f.StringVar(&k.rpm, "rpm-key", os.Getenv("CPAR_RPM_KEY"), "`file` with the armored OpenPGP key that signs rpm packages ($CPAR_RPM_KEY)")
	f.StringVar(&k.apk, "apk-key", os.Getenv("CPAR_APK_KEY"), "`file` with the RSA key that signs apk packages, in PEM form ($CPAR_APK_KEY)")
}

func (k *keys) from(folder string) {
	for _, p := range []*string{&k.minisign, &k.rpm, &k.apk} {
		*p = absolute(folder, *p)
	}
}

type latest struct {
	Version string `json:"version"`
	Date    string `json:"date"`
}

// sums writes latest.json, the digests of all files, and their signature.
func (r *release) sums() error {
	err := r.write("latest.json", func(w io.Writer) error {
		return json.NewEncoder(w).Encode(latest{"v" + r.version, r.date.Format("2006-01-02")})
	})
	if err != nil {
		return err
	}
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	err = r.write("SHA256SUMS", func(w io.Writer) error {
		for _, f := range files {
			b, err := os.ReadFile(filepath.Join(r.out, f.Name()))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(b), f.Name()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, k := range []struct{ key, what string }{{r.keys.minisign, "SHA256SUMS is"}, {r.keys.rpm, "rpm packages are"}, {r.keys.apk, "apk packages are"}} {
		if k.key == "" {
			fmt.Println("note:", k.what, "unsigned, because no key was given")
		}
	}
	fmt.Printf("wrote %d files into %s\n", len(files)+1, r.out)
	if r.keys.minisign == "" {
		return nil
	}
	// Program minisign asks for the passphrase of the key.
	sign := exec.Command("minisign", "-S", "-s", r.keys.minisign, "-m", "SHA256SUMS", "-t", fmt.Sprintf("cpar %s, commit %s", r.version, r.revision))
	sign.Dir, sign.Stdin, sign.Stdout, sign.Stderr = r.out, os.Stdin, os.Stdout, os.Stderr
	return sign.Run()
}
