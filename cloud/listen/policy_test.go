package listen

import (
	"errors"
	"net"
	"strings"
	"testing"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
)

// Nothing listens, because tests must not be reachable from elsewhere.
func TestPolicyOnReachability(t *testing.T) {
	files := func(o Options) Options { o.Cert, o.Key = "c", "k"; return o }
	issued := func(o Options) Options { o.ACME.Domains = []string{"photos.example"}; return o }
	proxied := func(o Options) Options { o.InsecureHTTP = true; return o }
	named := func(o Options) Options { o.Hosts = []string{"photos.example"}; return o }
	plain := func(o Options) Options { return o }
	const ok, noTLS, noTenant = "", "plain HTTP would show tokens", "there is no tenant"
	for _, k := range []struct {
		how func(Options) Options
		// on loopback and beyond, without and with a tenant
		here, hereTenant, there, thereTenant string
	}{
		{plain, ok, ok, noTLS, noTLS},
		{files, ok, ok, noTenant, ok},
		{issued, noTenant, ok, noTenant, ok},
		{proxied, noTenant, ok, noTenant, ok},
		{named, noTenant, ok, noTLS, noTLS},
		{func(o Options) Options { return named(files(o)) }, noTenant, ok, noTenant, ok},
	} {
		for _, address := range []string{"127.0.0.1:0", "localhost:0", "[::1]:443", "127.8.8.8:1", "0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "photos.example:80", "localhost.example:1", "[::ffff:192.0.2.1]:1"} {
			for _, tenants := range []bool{false, true} {
				o := k.how(Options{Address: address, Tenants: tenants})
				want := k.here
				beyond := !strings.HasPrefix(address, "127") && !strings.HasPrefix(address, "localhost:") && !strings.HasPrefix(address, "[::1]")
				switch {
				case beyond && tenants:
					want = k.thereTenant
				case beyond:
					want = k.there
				case tenants:
					want = k.hereTenant
				}
				err := o.Check()
				if want == ok && err != nil || want != ok && (!errors.Is(err, cpar.ErrInput) || !strings.Contains(err.Error(), want) || hint.Of(err) == "") {
					t.Errorf("%+v: %v, want %q", o, err, want)
				}
			}
		}
	}
}

func TestBeyondLoopback(t *testing.T) {
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip)} }
	for a, want := range map[net.Addr]bool{
		tcp("127.0.0.1"): false, tcp("::1"): false, tcp("127.9.9.9"): false, tcp("0.0.0.0"): true, tcp("::"): true, tcp("192.0.2.7"): true,
		tcp("fe80::1"): true, &net.UnixAddr{Name: "/run/cpard"}: false, &net.IPAddr{IP: net.ParseIP("127.0.0.1")}: true,
	} {
		if beyondLoopback(a) != want {
			t.Errorf("%v: %v", a, !want)
		}
	}
	if !beyondLoopback(&net.TCPAddr{}) {
		t.Error("an address without IP counts as loopback")
	}
}

func TestContradictoryOptionsAreRefused(t *testing.T) {
	acme := ACME{Domains: []string{"photos.example"}}
	for want, o := range map[string]Options{
		"needs its key":              {Cert: "c"},
		"a key its certificate":      {Key: "k"},
		"not from both":              {Cert: "c", Key: "k", ACME: acme},
		"HTTP is encrypted":          {Cert: "c", Key: "k", InsecureHTTP: true},
		"only over TLS":              {ClientCA: "a"},
		"a name for the certificate": {ACME: ACME{Email: "me@photos.example"}},
		"no certificate for":         {ACME: ACME{Domains: []string{"*.photos.example"}}},
		"no certificate for ":        {ACME: ACME{Domains: []string{"photos"}}},
		"no certificate for  ":       {ACME: ACME{Domains: []string{"192.0.2.1"}}},
		"nobody could connect":       {MaxConnections: -1},
	} {
		o.Address = "127.0.0.1:0"
		if err := o.Check(); !errors.Is(err, exitcode.ErrUsage) || !strings.Contains(err.Error(), strings.TrimSpace(want)) || hint.Of(err) == "" {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, address := range []string{"", "127.0.0.1", "nonsense"} {
		if err := (Options{Address: address}).Check(); !errors.Is(err, cpar.ErrInput) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
