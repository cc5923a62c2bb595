package listen

import (
	"fmt"
	"net"
	"strings"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
)

func beyondLoopback(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return !a.IP.IsLoopback()
	case *net.UnixAddr:
		return false
	}
	return true
}

// Check returns an error for contradictory or unsafe options.
func (o Options) Check() error {
	usage := func(advice, format string, args ...any) error {
		return hint.Add(exitcode.UsageError(fmt.Errorf(format, args...)), "%s", advice)
	}
	switch {
	case (o.Cert == "") != (o.Key == ""):
		return usage("pass both --tls-cert FILE and --tls-key FILE", "a certificate needs its key, and a key its certificate")
	case o.Cert != "" && len(o.ACME.Domains) > 0:
		return usage("pass --tls-cert and --tls-key, or --acme-domain", "certificates come from files or from ACME, not from both")
	case o.hasTLS() && o.InsecureHTTP:
		return usage("leave out --insecure-http", "with a certificate, HTTP is encrypted")
	case o.ClientCA != "" && !o.hasTLS():
		return usage("pass --tls-cert and --tls-key too", "clients present certificates only over TLS")
	case len(o.ACME.Domains) == 0 && (o.ACME.CA != "" || o.ACME.Email != ""):
		return usage("pass --acme-domain", "ACME needs a name for the certificate")
	case o.MaxConnections < 0:
		return usage("pass a number from 1 on", "--max-connections %d: nobody could connect", o.MaxConnections)
	}
	for _, d := range o.ACME.Domains {
		if ip := net.ParseIP(d); ip != nil || !strings.Contains(strings.Trim(d, "."), ".") || strings.ContainsAny(d, "*:/ ") {
			return usage("name it in full, like photos.example", "ACME issues no certificate for the name %s", sanitize.Text(d))
		}
	}
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return hint.Add(fmt.Errorf("%w: %q is not an address to listen on", cpar.ErrInput, o.Address), "write it like 127.0.0.1:8080")
	}
	return o.allows(!cparhttp.IsLoopback(host), o.Address)
}

func (o Options) hasTLS() bool { return o.Cert != "" || len(o.ACME.Domains) > 0 }

// allows enforces the policy on addresses. Parameter `beyond` reports whether
// other machines can reach the server. Such a server must require tokens and
// protect them with TLS.
func (o Options) allows(beyond bool, address string) error {
	refuse := func(advice, format string, args ...any) error {
		return hint.Add(fmt.Errorf("%w: "+format, append([]any{cpar.ErrInput}, args...)...), "%s", advice)
	}
	if beyond && !o.hasTLS() && !o.InsecureHTTP {
		return refuse("pass --tls-cert and --tls-key, or --acme-domain; behind a proxy that terminates TLS, --insecure-http; or listen on 127.0.0.1",
			"%s can be reached from elsewhere, and plain HTTP would show tokens on the way", address)
	}
	if o.Tenants {
		return nil
	}
	const add = "make one: cpard tenant add NAME --data DIR"
	switch {
	case beyond:
		return refuse(add+"; or listen on 127.0.0.1", "%s can be reached from elsewhere, and there is no tenant: anybody could push, read and delete", address)
	case o.InsecureHTTP:
		return refuse(add, "--insecure-http is for a proxy that others reach, and there is no tenant")
	case len(o.Hosts) > 0:
		return refuse(add+"; or leave out --allowed-host", "--allowed-host is for names that others use, and there is no tenant")
	case len(o.ACME.Domains) > 0:
		return refuse(add, "--acme-domain is for a server that others reach, and there is no tenant")
	}
	return nil
}
