package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/internal/version"
)

// A checkedVersion is the JSON output of version --check.
type checkedVersion struct {
	version.Info
	Latest   published `json:"latest"`
	Outdated bool      `json:"outdated"`
	Address  string    `json:"address"`
}

// published is the content of a latest.json (docs/RELEASING.md).
type published struct {
	Version string `json:"version"`
	Date    string `json:"date,omitempty"`
}

const (
	maxPublished    = 4 << 10
	publishedWithin = 20 * time.Second
)

func addCheck(c *cobra.Command) {
	var check bool
	var address string
	c.Flags().BoolVar(&check, "check", false, "ask the address in --releases for the newest version")
	c.Flags().StringVar(&address, "releases", "", "`address` of the file latest.json of a release, https:// or on this machine (default $CPAR_RELEASES)")
	c.Long += `

Only with --check does it ask a server for the newest version. The request holds nothing
about you, not even the version that you have. Nothing is downloaded or installed.`
	c.Example += "\n  $ cpar version --check --releases https://photos.example/cpar/latest.json"
	// Apply the settings only with --check, so that cpar version works with a
	// damaged configuration file.
	c.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if !check {
			return nil
		}
		return applySettings(c)
	}
	plain := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !check {
			return plain(cmd, args)
		}
		asJSON, err := cmd.Flags().GetBool("json")
		if err != nil {
			return err
		}
		latest, err := newest(cmd.Context(), address)
		if err != nil {
			return err
		}
		r := compared(version.Of("cpar"), latest)
		r.Address = address
		return output(cmd, asJSON, r, func() { r.print(cmd.OutOrStdout()) })
	}
}

func compared(here version.Info, latest published) checkedVersion {
	// A build without a version number is neither older nor newer.
	outdated := semver.IsValid(here.Version) && semver.Compare(here.Version, latest.Version) < 0
	return checkedVersion{Info: here, Latest: latest, Outdated: outdated}
}

func (r *checkedVersion) print(out io.Writer) {
	fmt.Fprintln(out, r.Info)
	switch {
	case r.Outdated:
		fmt.Fprintln(out, "there is a newer version:", r.Latest)
	case semver.Compare(r.Version, r.Latest.Version) < 0:
		fmt.Fprintln(out, "this build has no version number; the newest version is", r.Latest)
	default:
		fmt.Fprintln(out, "this is the newest version")
	}
}

func (p published) String() string {
	if p.Date == "" {
		return p.Version
	}
	return p.Version + ", " + sanitize.Text(p.Date)
}

// newest fetches the description of the newest version from an address. It does
// not follow redirects.
func newest(ctx context.Context, address string) (p published, err error) {
	const what = "asking for the newest version"
	u, err := url.Parse(address)
	switch {
	case address == "":
		return p, hint.Add(exitcode.UsageError(errors.New("no address of releases is known")), "pass --releases ADDRESS, or set CPAR_RELEASES or releases in the configuration file")
	case err != nil || u.Host == "" || u.User != nil:
		return p, fmt.Errorf("%s: %w: %s is not an address", what, cpar.ErrInput, sanitize.Text(address))
	case u.Scheme != "https" && (u.Scheme != "http" || !cparhttp.IsLoopback(u.Hostname())):
		return p, fmt.Errorf("%s: %w: over %s:// anyone on the path to %s could change the answer", what, cpar.ErrInput, sanitize.Text(u.Scheme), sanitize.Text(u.Host))
	}
	client := http.Client{Timeout: publishedWithin, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if u.Scheme == "http" {
		client.Transport = cparhttp.OnlyLoopback(http.DefaultTransport.(*http.Transport))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return p, fmt.Errorf("%s: %w: %w", what, cpar.ErrInput, err)
	}
	request.Header.Set("User-Agent", "cpar")
	response, err := client.Do(request)
	if err != nil {
		return p, fmt.Errorf("%s: %w: %w", what, cpar.ErrCloud, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return p, fmt.Errorf("%s: %w: %s answers with status %d", what, cpar.ErrCloud, sanitize.Text(u.Host), response.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(response.Body, maxPublished))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || !semver.IsValid(p.Version) {
		return published{}, fmt.Errorf("%s: %w: %s does not answer with a version", what, cpar.ErrCloud, sanitize.Text(u.Host))
	}
	return p, nil
}
