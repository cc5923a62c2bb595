package blob

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"cpar"
	"cpar/internal/hint"
)

var providers = map[string]func(bucketConfig) (driver, error){
	"s3":     openS3,
	"gs":     openGoogle,
	"azblob": openAzure,
}

type bucketConfig struct {
	bucket     string
	endpoint   string // "" for the endpoint of the provider
	region     string
	pathStyle  bool
	credential func(name string) string
	client     *http.Client
}

// bucketName matches names that need no quoting in host names and paths.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// prefixForm matches prefixes that need no quoting with any provider.
var prefixForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`)

// Open returns the bucket at an address:
//
//	s3://bucket/prefix      ?endpoint=https://… &region=… &path-style=true|false
//	gs://bucket/prefix      ?endpoint=https://…
//	azblob://container/prefix ?endpoint=https://ACCOUNT.blob.core.windows.net
//
// Plain HTTP to another machine requires &insecure-http=true.
func Open(address string, o Options) (*Bucket, error) {
	fail := func(format string, args ...any) (*Bucket, error) {
		err := fmt.Errorf("%w: object storage: %s", cpar.ErrInput, fmt.Sprintf(format, args...))
		return nil, hint.Add(err, "write it like s3://BUCKET/PREFIX?region=REGION, azblob://CONTAINER/PREFIX or gs://BUCKET/PREFIX; credentials come from the environment or a file")
	}
	u, err := url.Parse(address)
	if err != nil {
		return fail("its address cannot be read") // omits the address, which may contain credentials
	}
	if u.User != nil {
		return fail("credentials do not belong in an address, which others can see")
	}
	openDriver := providers[u.Scheme]
	if openDriver == nil {
		return fail("there is no kind %q; use s3, azblob or gs", u.Scheme)
	}
	prefix := strings.Trim(u.Path, "/")
	if !bucketName.MatchString(u.Host) || prefix != "" && (!prefixForm.MatchString(prefix) || strings.Contains("/"+prefix+"/", "/../") || strings.Contains("/"+prefix+"/", "/./")) {
		return fail("%q is not a bucket and a prefix of letters, digits, '.', '_' and '-'", u.Host+u.Path)
	}
	p := bucketConfig{bucket: u.Host, credential: o.Credential, region: u.Query().Get("region"), endpoint: strings.TrimSuffix(u.Query().Get("endpoint"), "/")}
	if p.credential == nil {
		p.credential = func(string) string { return "" }
	}
	p.pathStyle = p.endpoint != ""
	insecure := false
	for key, values := range u.Query() {
		switch value := values[0]; {
		case len(values) > 1:
			return fail("%q is given twice", key)
		case key == "endpoint" || key == "region" && u.Scheme == "s3":
		case key == "path-style" && u.Scheme == "s3" && (value == "true" || value == "false"):
			p.pathStyle = value == "true"
		case key == "insecure-http" && (value == "true" || value == "false"):
			insecure = value == "true"
		default:
			return fail("%s does not accept this value of %q", u.Scheme, key)
		}
	}
	if err := checkEndpoint(p.endpoint, insecure); err != nil {
		return fail("%v", err)
	}
	b := &Bucket{o: o}
	if prefix != "" {
		b.prefix = prefix + "/"
	}
	b.o.Attempts = cmp.Or(b.o.Attempts, defaultAttempts)
	b.o.Silence = cmp.Or(b.o.Silence, defaultSilence)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	transport.MaxIdleConnsPerHost = 16
	p.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if b.driver, err = openDriver(p); err != nil {
		return nil, err
	}
	return b, nil
}

func checkEndpoint(endpoint string, insecure bool) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("its endpoint is not an address such as https://storage.example")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Scheme == "http" && !loopback && !insecure {
		return fmt.Errorf("its endpoint is plain HTTP on another machine; if the network is yours alone, add insecure-http=true")
	}
	return nil
}
