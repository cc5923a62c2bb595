package main

import (
	"crypto"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bytes"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"time"
)

func (r *release) packages(s stage) error {
	// Paths in the YAML files are relative to the stage.
	before, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := os.Chdir(s.folder); err != nil {
		return err
	}
	defer func() { _ = os.Chdir(before) }()
	for _, name := range programs {
		config, err := nfpm.ParseFileWithEnvMapping(filepath.Join("packaging", name+".yaml"), func(v string) string {
			return map[string]string{"ARCH": s.arch, "VERSION": r.version, "STATIC": s.static}[v]
		})
		if err != nil {
			return err
		}
		for _, format := range []string{"deb", "rpm", "apk"} {
			if err := r.pack(&config, format); err != nil {
				return fmt.Errorf("%s of %s: %w", format, name, err)
			}
		}
	}
	return nil
}

func (r *release) pack(config *nfpm.Config, format string) error {
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info.MTime = r.date
	info.RPM.BuildHost = "reproducible"
	if r.keys.rpm != "" {
		info.RPM.Signature.SignFn = r.signRPM
	}
	info.APK.Signature.KeyFile = r.keys.apk
	// Name the public key after the private key's file, without the extension.
	info.APK.Signature.KeyName = strings.TrimSuffix(filepath.Base(r.keys.apk), filepath.Ext(r.keys.apk))
	info = nfpm.WithDefaults(info)
	p, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return r.write(p.ConventionalFileName(info), func(w io.Writer) error { return p.Package(info, w) })
}

// signRPM returns a signature with the date of the commit. The signature of
// package nfpm would contain the time of the build.
func (r *release) signRPM(data io.Reader) ([]byte, error) {
	f, err := os.Open(r.keys.rpm)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := openpgp.ReadArmoredKeyRing(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.keys.rpm, err)
	}
	var out bytes.Buffer
	deterministic := false
	err = openpgp.DetachSign(&out, list[0], data, &packet.Config{
		DefaultHash: crypto.SHA256, Time: func() time.Time { return r.date },
		NonDeterministicSignaturesViaNotation: &deterministic,
	})
	return out.Bytes(), err
}
