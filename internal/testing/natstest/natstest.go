// Package natstest starts unmodified NATS servers on loopback, configured as
// for a cluster, with TLS and nkeys (NATS keys).
package natstest

import (
	"cpar/internal/testing/oracle"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
)

type Servers struct {
	t       testing.TB
	program string
	folder  string
	ports   []int // for clients
	cluster []int // between servers
	running []*exec.Cmd
	// Seed is the path of the nodes' nkey. CA is the file of the servers'
	// certificate authority.
	Seed, CA string
	user     string
}

// Start starts n servers. CPAR_NATS names nats-server, and
// CPAR_NATS_TEST=required requires it.
func Start(t testing.TB, n int) *Servers {
	t.Helper()
	program := oracle.Named(t, "CPAR_NATS")
	s := &Servers{t: t, program: program, folder: t.TempDir(), running: make([]*exec.Cmd, n)}
	s.Seed, s.user = s.Key("machines")
	s.certificates()
	for range n {
		s.ports, s.cluster = append(s.ports, oracle.Port(t)), append(s.cluster, oracle.Port(t))
	}
	for i := range n {
		s.Run(i)
	}
	t.Cleanup(func() {
		for i := range s.running {
			s.Kill(i)
		}
	})
	return s
}

// Key creates an nkey and returns its seed file's path and its public key.
func (s *Servers) Key(name string) (file, public string) {
	s.t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		s.t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err == nil {
		public, err = pair.PublicKey()
	}
	file = filepath.Join(s.folder, name+".seed")
	if err == nil {
		err = os.WriteFile(file, seed, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return file, public
}

// Addresses returns the servers' addresses as --nats takes them.
func (s *Servers) Addresses() string {
	var list []string
	for _, p := range s.ports {
		list = append(list, fmt.Sprintf("tls://127.0.0.1:%d", p))
	}
	return strings.Join(list, ",")
}

// Run starts server i with its existing data and waits until it listens.
func (s *Servers) Run(i int) {
	s.t.Helper()
	file := filepath.Join(s.folder, fmt.Sprintf("%d.conf", i))
	if err := os.WriteFile(file, []byte(s.config(i)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.running[i] = exec.Command(s.program, "--config", file)
	oracle.Serve(s.t, s.running[i], fmt.Sprintf("127.0.0.1:%d", s.ports[i]), filepath.Join(s.folder, fmt.Sprintf("%d.log", i)))
}

// Kill kills server i and keeps its data.
func (s *Servers) Kill(i int) {
	if c := s.running[i]; c != nil && c.Process != nil {
		c.Process.Kill()
		c.Wait()
		s.running[i] = nil
	}
}

func (s *Servers) Process(i int) *os.Process { return s.running[i].Process }

// Wipe removes the data of server i, which must not run.
func (s *Servers) Wipe(i int) {
	if err := os.RemoveAll(s.store(i)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Servers) store(i int) string { return filepath.Join(s.folder, fmt.Sprintf("store%d", i)) }

// config returns the configuration that docs/operating.md recommends.
func (s *Servers) config(i int) string {
	var routes []string
	for j, p := range s.cluster {
		if j != i {
			routes = append(routes, fmt.Sprintf("tls://127.0.0.1:%d", p))
		}
	}
	tls := fmt.Sprintf(`{ cert_file: %q, key_file: %q, ca_file: %q }`, filepath.Join(s.folder, "server.pem"), filepath.Join(s.folder, "server.key"), s.CA)
	cluster := ""
	if len(routes) > 0 {
		cluster = fmt.Sprintf("cluster {\n  name: cpar\n  listen: 127.0.0.1:%d\n  routes: [%s]\n  tls %s\n}\n", s.cluster[i], strings.Join(routes, ", "), tls)
	}
	return fmt.Sprintf(`server_name: n%d
listen: "127.0.0.1:%d"
max_payload: 8MB
write_deadline: "2s"
ping_interval: "2s"
ping_max: 1
tls %s
jetstream { store_dir: %q, sync_interval: always }
%sauthorization { users: [ { nkey: %s, permissions: {
  publish: ["cpar.>", "_INBOX.>", "$JS.API.>", "$JS.FC.>", "$JS.ACK.>", "$KV.cpar-active.>"]
  subscribe: ["cpar.>", "_INBOX.>"]
} } ] }
`, i, s.ports[i], tls, s.store(i), cluster, s.user)
}

func (s *Servers) certificates() {
	s.CA = filepath.Join(s.folder, "ca.pem")
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nats"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	key, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	cert, err2 := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	der, err3 := x509.MarshalPKCS8PrivateKey(key)
	if err1 != nil || err2 != nil || err3 != nil {
		s.t.Fatal(err1, err2, err3)
	}
	for name, block := range map[string]*pem.Block{"ca.pem": {Type: "CERTIFICATE", Bytes: cert}, "server.pem": {Type: "CERTIFICATE", Bytes: cert}, "server.key": {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(s.folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}
