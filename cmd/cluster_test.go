//go:build linux

package cmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/bearer"
	"cpar/internal/testing/oracle"
)

type asker struct {
	t       *testing.T
	cloud   *cparhttp.Client
	request *cpar.Request
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	hosts   []string
	replies map[string]bool // all distinct replies
	asked   int
	longest time.Duration
}

func newAsker(t *testing.T, home, tokenFile, url string) *asker {
	t.Helper()
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a := &asker{t: t, hosts: []string{"127.0.0.1"}, replies: map[string]bool{}}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(read(filepath.Join(home, "cloud.pem")))
	token, err1 := bearer.Parse(strings.TrimSpace(string(read(tokenFile))))
	request, err2 := cpar.DecodeRequest(read(filepath.Join(home, "sent", "request-0001")))
	cloud, err3 := cparhttp.New(url, &http.Client{Transport: &http.Transport{DialContext: a.dial, TLSClientConfig: &tls.Config{RootCAs: authorities}}})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	a.cloud, a.request = cloud, request
	if err := cloud.SetToken(token); err != nil {
		t.Fatal(err)
	}
	return a
}

// A refusal by every address counts as downtime, although a client would retry.
func (a *asker) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	hosts := slices.Clone(a.hosts)
	a.mu.Unlock()
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	for _, h := range hosts {
		if conn, err = new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(h, port)); err == nil {
			return conn, nil
		}
	}
	if ctx.Err() == nil {
		a.t.Errorf("nobody is at %q: %v", hosts, err)
	}
	return nil, err
}

func (a *asker) lead(lines string) {
	var hosts []string
	for _, m := range regexp.MustCompile(`(?m) A \$(ONE|TWO|THREE)$`).FindAllStringSubmatch(lines, -1) {
		hosts = append(hosts, map[string]string{"ONE": "127.0.0.1", "TWO": "127.0.0.2", "THREE": "127.0.0.3"}[m[1]])
	}
	if len(hosts) == 0 {
		a.t.Fatalf("the name leads nowhere: %q", lines)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hosts = hosts
}

func (a *asker) ask(ctx context.Context) (reply string) {
	start := time.Now()
	r, _, err := a.cloud.Annotate(ctx, a.request)
	if ctx.Err() != nil {
		return ""
	}
	var b []byte
	if err == nil {
		b, err = r.MarshalBinary()
	}
	if err != nil {
		a.t.Errorf("no answer after %v: %v", time.Since(start), err)
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.replies[string(b)] = true
	a.asked++
	a.longest = max(a.longest, time.Since(start))
	return string(b)
}

func (a *asker) begin() {
	ctx, stop := context.WithCancel(a.t.Context())
	a.stop = stop
	a.running.Go(func() {
		for ctx.Err() == nil {
			a.ask(ctx)
			time.Sleep(25 * time.Millisecond) // the limit is 50 requests a second
		}
	})
}

func asideOf(t *testing.T, variables ...string) (folders []string) {
	t.Helper()
	for _, v := range variables {
		folders = append(folders, filepath.Dir(oracle.Named(t, v)))
	}
	return folders
}

// Going from one node to three as documented keeps clients served: every answer
// arrives within two seconds and is that from before or after the push.
func TestClusterPath(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil && os.Getenv("CPAR_OPENSSL") != "required" {
		t.Skip(err)
	}
	bin := append(asideOf(t, "CPAR_NATS", "CPAR_VERSITYGW"), programs(t))
	free := ports(t, "8443", "9090", "4222", "6222", "7070")
	three := []string{"the server", "the second machine", "the third machine"}
	machines := atHome(t, bin, append(three, "your machine")...)
	for _, s := range readPath(t, operating, "<!-- path -->") {
		if slices.Contains([]string{"A certificate", "A tenant", "Serve", "Build and push"}, s.section) {
			machines[s.machine].do(s.with(free))
		}
	}
	yours := machines["your machine"]
	yours.do(step{machine: yours.name, commands: "cpar annotate photos/000.jpg --save-requests sent\n"})
	url := free.Replace("https://localhost:8443")
	a := newAsker(t, yours.home, filepath.Join(yours.home, "anna.token"), url)
	before := a.ask(t.Context())
	a.begin()
	for _, s := range readPath(t, operating, "<!-- path: three -->") {
		switch {
		case s.names != "":
			a.lead(s.names)
		case s.machine == "each of the three":
			for _, name := range three {
				machines[name].do(s.with(free))
			}
		default:
			machines[s.machine].do(s.with(free))
		}
	}
	a.stop()
	a.running.Wait()
	after := a.ask(t.Context())
	for _, host := range []string{"ONE", "TWO", "THREE"} {
		phone := newAsker(t, yours.home, filepath.Join(filepath.Dir(yours.home), "stick", "phone.token"), url)
		phone.lead(" A $" + host)
		if phone.ask(t.Context()) != after {
			t.Errorf("machine %s does not answer the new token", host)
		}
	}
	t.Logf("%d requests, the longest took %v", a.asked, a.longest)
	if a.longest > 2*time.Second {
		t.Error("that is too long")
	}
	if delete(a.replies, before); before == after || len(a.replies) != 1 || !a.replies[after] {
		t.Errorf("%d other replies than before the push", len(a.replies))
	}
}
