//go:build linux || darwin || freebsd

package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cpar/cloud/tenant"
	"cpar/cparhttp"
	"cpar/internal/bearer"
	"cpar/internal/testing/buckettest"
	"cpar/internal/testing/natstest"
	"cpar/internal/wire"
)

func attempt(t *testing.T, p buckettest.Endpoint, args ...string) (code int, said string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		return -1, err.Error()
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Args[0] = "cpard"
	cmd.Env = append(os.Environ(), "CPARD_CONFIG=none")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		cmd.Env = append(cmd.Env, name+"="+p.Credential(name))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return -1, err.Error()
	}
	late := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	err = cmd.Wait()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		return e.ExitCode(), out.String()
	} else if err != nil {
		return -1, err.Error()
	}
	return 0, out.String()
}

// A token reaches no other tenant's data through any router, and a program
// without the cluster's key can neither serve, listen nor send.
func TestClusterRefusesForeignTenantsAndNodes(t *testing.T) {
	t.Parallel()
	c := &testCluster{t: t, nats: natstest.Start(t, 3), storage: buckettest.Versity(t)}
	// Copy the folder of tenants to every router, as operating.md says.
	data := filepath.Join(t.TempDir(), "tenants")
	var tokens [2]bearer.Token
	for i, name := range []string{"ann", "bob"} {
		issued, err := (&tenant.Editor{Data: data}).Add(t.Context(), name, "laptop", tenant.Annotate|tenant.Push|tenant.Delete, tenant.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		tokens[i] = issued.Token
	}
	for range 2 {
		d := &remoteDaemon{t: t, place: c.storage.Endpoint, data: filepath.Join(t.TempDir(), "data")}
		if err := os.CopyFS(d.data, os.DirFS(data)); err != nil {
			t.Fatal(err)
		}
		c.machines = append(c.machines, d)
	}
	var starting sync.WaitGroup
	for i := range c.machines {
		starting.Go(func() { c.start(i, "--role", "all", "--log-level", "debug") })
	}
	starting.Wait()
	folder, m := large(t, 1, 1)
	as := func(machine, who int) *cparhttp.Client {
		client := c.machines[machine].client()
		if err := client.SetToken(tokens[who]); err != nil {
			t.Fatal(err)
		}
		return client
	}
	if _, err := as(0, 0).Push(t.Context(), folder, nil); err != nil {
		t.Fatal(err)
	}
	q := requestsTo(m, 1)[0]
	body, err := q.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	index := "/v1/indexes/" + m.ID.String()
	before := c.parts()
	for machine := range c.machines {
		if _, _, err := as(machine, 0).Annotate(t.Context(), q); err != nil {
			t.Errorf("the owner, by machine %d: %v", machine, err)
		}
		for _, x := range []struct {
			method, path string
			body         []byte
		}{
			{"GET", index + "/manifest", nil}, {"GET", index + "/segments/" + m.Segments[0].Digest.String(), nil},
			{"HEAD", index + "/segments/" + m.Segments[0].Digest.String(), nil},
			{"POST", index + "/annotate", body}, {"POST", index + "/annotate-batch", wire.AppendBatch(nil, [][]byte{body, body})},
			{"DELETE", index, nil},
		} {
			for who, want := range map[string]int{"bob": 404, "nobody": 401} {
				req, err := http.NewRequest(x.method, c.machines[machine].url+x.path, bytes.NewReader(x.body))
				if err != nil {
					t.Fatal(err)
				}
				if req.Header.Set("Content-Type", cparhttp.TypeBinary); who == "bob" {
					tokens[1].SetHeader(req.Header)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				said, _ := io.ReadAll(resp.Body)
				if resp.Body.Close(); resp.StatusCode != want {
					t.Errorf("%s %s of %s by machine %d: %s %.200s", x.method, x.path, who, machine, resp.Status, said)
				}
			}
		}
		// Another tenant's manifest activates nothing, because this tenant
		// lacks its segments.
		manifest, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequest("PUT", c.machines[machine].url+index+"/manifest", bytes.NewReader(manifest))
		req.Header.Set("Content-Type", cparhttp.TypeBinary)
		tokens[1].SetHeader(req.Header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		if resp.Body.Close(); resp.StatusCode != http.StatusConflict {
			t.Errorf("bob pushes ann's manifest: %s %s", resp.Status, said)
		}
		if list, err := as(machine, 1).List(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("bob has %v, %v", list, err)
		}
	}
	if after := c.parts(); after != before {
		t.Errorf("%d parts were loaded, and %d after another tenant's requests", before, after)
	}
	c.strangers(t)
	if _, _, err := as(1, 0).Annotate(t.Context(), q); err != nil {
		t.Errorf("the owner, after all that: %v", err)
	}
}

func (c *testCluster) parts() (n int) {
	for _, x := range c.status().Nodes {
		n += x.Parts
	}
	return n
}

type clusterStatus struct {
	Nodes []struct {
		Node    string
		Leaving bool
		Parts   int
	}
	Servers, Indexes int
}

func (c *testCluster) status() (s clusterStatus) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.run("status", "--json")), &s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *testCluster) strangers(t *testing.T) {
	t.Helper()
	seed, _ := c.nats.Key("stranger")
	other := natstest.Start(t, 1) // has another authority
	serve := func(nats, seed, ca string, more ...string) []string {
		return append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--store", c.storage.Address, "--listen", "127.0.0.1:0",
			"--nats", nats, "--nats-seed", seed, "--nats-ca", ca, "--node-name", "stranger"}, more...)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(t.TempDir(), "shared")
	if b, err := os.ReadFile(c.nats.Seed); err != nil || os.WriteFile(shared, b, 0o644) != nil {
		t.Fatal(err)
	}
	var attempts sync.WaitGroup
	defer attempts.Wait()
	for name, x := range map[string]struct {
		args []string
		code int
		says string
	}{
		"another nkey":         {serve(c.nats.Addresses(), seed, c.nats.CA), 8, "(?i)authorization"},
		"no nkey":              {serve(c.nats.Addresses(), "", c.nats.CA), 8, "(?i)authorization|nkey"},
		"a seed that is none":  {serve(c.nats.Addresses(), empty, c.nats.CA), 3, "no nkey seed"},
		"a seed for everyone":  {serve(c.nats.Addresses(), shared, c.nats.CA), 3, "others may read the seed"},
		"another authority":    {serve(c.nats.Addresses(), c.nats.Seed, other.CA), 8, "certificate"},
		"no TLS":               {serve("nats://10.1.2.3:4222", c.nats.Seed, c.nats.CA), 3, "without TLS"},
		"no TLS, on loopback":  {serve(strings.ReplaceAll(c.nats.Addresses(), "tls://", "nats://"), c.nats.Seed, other.CA), 8, "certificate|TLS"},
		"a secret in the URL":  {serve("tls://user:password@127.0.0.1:4222", c.nats.Seed, c.nats.CA), 3, "cannot be read"},
		"another's name":       {serve(c.nats.Addresses(), c.nats.Seed, c.nats.CA, "--node-name", "m0"), 3, "another machine of the cluster is called m0"},
		"no name for a part":   {serve(c.nats.Addresses(), c.nats.Seed, c.nats.CA, "--node-name", "a.b"), 3, "cannot be called"},
		"status, another nkey": {[]string{"cluster", "status", "--nats", c.nats.Addresses(), "--nats-seed", seed, "--nats-ca", c.nats.CA}, 8, "(?i)authorization"},
	} {
		attempts.Go(func() {
			code, said := attempt(t, c.storage.Endpoint, x.args...)
			if code != x.code || !regexp.MustCompile(x.says).MatchString(said) || strings.Contains(said, "listening") || strings.Contains(said, "password") {
				t.Errorf("%s: exit code %d: %s", name, code, said)
			}
		})
	}
	pem, err := os.ReadFile(c.nats.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	key, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range strings.Split(c.nats.Addresses(), ",") {
		for name, o := range map[string][]nats.Option{"a stranger": {key}, "nobody": nil, "a guess": {nats.UserInfo("cpard", "cpard")}} {
			conn, err := nats.Connect(address, append(o, nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}))...)
			if err == nil {
				conn.Close()
			}
			if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("%s at a NATS server: %v", name, err)
			}
		}
	}
	// A node may use only the subjects that nodes need.
	key, err = nats.NkeyOptionFromSeed(c.nats.Seed)
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 10)
	conn, err := nats.Connect(strings.Split(c.nats.Addresses(), ",")[0], key, nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.SubscribeSync("$SYS.>"); err == nil {
		conn.Flush()
	}
	conn.Publish("else", nil)
	conn.Flush()
	for range 2 {
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Error("a machine may use subjects that it does not need")
		}
	}
}
