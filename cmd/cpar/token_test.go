package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/cloud/tenant"
	"cpar/internal/bearer"
)

func giveToken(ts *testscript.TestScript, _ bool, args []string) {
	scopes, err := tenant.ParseScopes(strings.Split(args[2], ","))
	ts.Check(err)
	e := tenant.Editor{Data: ts.MkAbs(args[0]), Keep: func(t bearer.Token) error {
		return os.WriteFile(ts.MkAbs(args[3]), []byte(t.Reveal()+"\n"), 0o600)
	}}
	_, err = e.Add(context.Background(), args[1], filepath.Base(args[3]), scopes, tenant.Limits{})
	ts.Check(err)
}

func certs(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range []string{"server", "client"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		ts.Check(err)
		c := &x509.Certificate{
			SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		ts.Check(err)
		pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
		ts.Check(err)
		ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o700))
		for suffix, block := range map[string]*pem.Block{"pem": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "PRIVATE KEY", Bytes: pkcs8}} {
			ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), name+"."+suffix), pem.EncodeToMemory(block), 0o600))
		}
	}
}

// No command takes the token itself as an argument, because other users can
// read command lines.
func TestNoTokenOnTheCommandLine(t *testing.T) {
	root := newRoot()
	seen := 0
	for _, c := range root.Commands() {
		if c.Flags().Lookup("cloud") == nil {
			continue
		}
		seen++
		name := "token-file"
		if c.Name() == "vision-serve" {
			name = "cloud-token-file"
		}
		for _, flag := range []string{name, "cloud-ca", "cloud-cert", "cloud-cert-key"} {
			if c.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s", c.CommandPath(), flag)
			}
		}
		if c.Flags().Lookup("token") != nil {
			t.Errorf("%s has --token", c.CommandPath())
		}
	}
	if seen < 7 {
		t.Errorf("%d commands name a cloud", seen)
	}
}
