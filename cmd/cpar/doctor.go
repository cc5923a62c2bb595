package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/untrusted"
	"cpar/user"
	"cpar/user/device"
)

// finding is one line of cpar doctor: ok, warn or fail, and what to do.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Says   string `json:"says"`
	Do     string `json:"do,omitempty"`

	err error // of a fail, for the exit code
}

// doctor collects findings.
type doctor struct {
	keys     keyFlags
	cloud    cloudFlags
	model    modelFlags
	findings []finding
}

func (d *doctor) ok(check, says string, args ...any) {
	d.findings = append(d.findings, finding{Check: check, Result: "ok", Says: fmt.Sprintf(says, args...)})
}

func (d *doctor) warn(check, do, says string, args ...any) {
	d.findings = append(d.findings, finding{Check: check, Result: "warn", Says: fmt.Sprintf(says, args...), Do: do})
}

func (d *doctor) fail(check, do string, err error) {
	d.findings = append(d.findings, finding{Check: check, Result: "fail", Says: untrusted.Text(err.Error()), Do: do, err: err})
}

func doctorCommand() *cobra.Command {
	var d doctor
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "check key, cloud, index, folders, clock and keyring",
		Long: `doctor looks at all that annotate needs and says of each whether it is ok, and what to do
if it is not: the key file, the cloud and its clock, the index in use, the folders that
cpar keeps things in, the keyring, and the image network. Nothing is changed, and no
passphrase is asked for: an encrypted key is opened only from the keyring or with
--passphrase-file. The exit code is that of the first failure; a warning is none.`,
		Example: `  $ cpar doctor --cloud http://127.0.0.1:8080
  ok    key      …/cpar/key, allows sealed, local
  ok    cloud    http://127.0.0.1:8080 has 1 index`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.run(cmd.Context())
			var first error
			for _, f := range d.findings {
				if first == nil && f.err != nil {
					first = fmt.Errorf("%s: %w", f.Check, f.err)
				}
			}
			if err := output(cmd, asJSON, d.findings, func() {
				for _, f := range d.findings {
					fmt.Fprintf(cmd.OutOrStdout(), "%-4s  %-7s  %s\n", f.Result, f.Check, f.Says)
					if f.Do != "" {
						fmt.Fprintf(cmd.OutOrStdout(), "               %s\n", f.Do)
					}
				}
			}); err != nil {
				return err
			}
			return first
		},
	}
	d.keys.add(c)
	d.cloud.add(c)
	d.model.add(c)
	jsonFlag(c, &asJSON)
	return c
}

func (d *doctor) run(ctx context.Context) {
	this, err := device.This()
	if err != nil {
		d.fail("folders", "set XDG_STATE_HOME to a folder of yours", err)
		return
	}
	key := d.checkKey(ctx, this)
	d.checkCloud(ctx, this, key)
	for _, folder := range []struct{ check, path string }{{"state", this.State}, {"cache", this.Cache}} {
		d.checkFolder(folder.check, folder.path)
	}
	if d.model.path == "" {
		d.warn("network", "pass --model FILE, or set it in the configuration file (cpar config)", "no image network was named; with one about twice as much is found")
	} else if _, err := d.model.open(); err != nil {
		d.fail("network", "name another file with --model", err)
	} else {
		d.ok("network", "%s", untrusted.Text(d.model.path))
	}
}

var errAsking = errors.New("no passphrase was given")

func (d *doctor) checkKey(ctx context.Context, this *device.Device) *user.Key {
	path, err := d.keys.file()
	if err != nil {
		d.fail("key", "pass --key FILE", err)
		return nil
	}
	if remembered, err := this.Remembers(path); err == nil && remembered {
		d.ok("keyring", "it opens %s (cpar key forget)", untrusted.Text(path))
	}
	how := d.keys.unlock(this, path)
	if d.keys.passphraseFile == "" {
		how.Passphrase = func() (string, error) { return "", errAsking }
	}
	key, err := this.ReadKey(path, how)
	switch {
	case errors.Is(err, errAsking):
		d.warn("key", "pass --passphrase-file FILE to have it opened, or cpar key remember", "%s is encrypted, and was not opened", untrusted.Text(path))
	case err != nil:
		d.fail("key", "make a key with cpar init, or name one with --key", err)
	default:
		d.ok("key", "%s, allows %v", untrusted.Text(path), key.Policy())
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		d.warn("key", "chmod 600 "+shellWord(path), "others may read the file")
	}
	return key
}

// mostSkew is how far the cloud's clock may differ, which nothing depends on but logs.
const mostSkew = 5 * time.Minute

func (d *doctor) checkCloud(ctx context.Context, this *device.Device, key *user.Key) {
	if d.cloud.url == "" {
		d.warn("cloud", "pass --cloud URL, or set it in the configuration file (cpar config)", "none was named")
		return
	}
	client, err := d.cloud.client()
	if err != nil {
		d.fail("cloud", "write it like http://127.0.0.1:8080", err)
		return
	}
	list, err := client.List(ctx)
	if err != nil {
		d.fail("cloud", "is cpard running there?", err)
		return
	}
	indexes := fmt.Sprintf("%d indexes", len(list))
	if len(list) == 1 {
		indexes = "1 index"
	}
	d.ok("cloud", "%s has %s", client.URL(), indexes)
	if skew, ok := clockSkew(ctx, client.URL()); ok && skew.Abs() > mostSkew {
		d.warn("clock", "set the clock of one of the two", "the cloud's differs by %v", skew.Round(time.Second))
	} else if ok {
		d.ok("clock", "as the cloud's")
	}
	if key == nil {
		return
	}
	used, ok, err := this.InUse(key)
	if err != nil {
		d.fail("index", "see the message", err)
		return
	}
	if !ok {
		d.warn("index", "push one, or annotate a photo", "none is in use with this key on this device")
		return
	}
	for _, x := range list {
		if x.ID != used.ID {
			continue
		}
		if _, err := client.Manifest(ctx, x.ID); err != nil {
			d.fail("index", "push it again", err)
			return
		}
		d.ok("index", "%v is in use, in generation %d, and at the cloud", used.Origin, used.Generation)
		return
	}
	d.fail("index", "push it again", fmt.Errorf("%w: index %v is in use, and not at the cloud", cpar.ErrCloud, used.Origin))
}

// clockSkew is how much later it is at the cloud, by the date that its answers bear.
func clockSkew(ctx context.Context, url string) (time.Duration, bool) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
	if err != nil {
		return 0, false
	}
	client := http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(ask)
	if err != nil {
		return 0, false
	}
	answer.Body.Close()
	there, err := http.ParseTime(answer.Header.Get("Date"))
	return time.Until(there), err == nil
}

// checkFolder finds out whether a folder can be written to, and how large what it holds is.
func (d *doctor) checkFolder(check, path string) {
	if path == "" {
		d.warn(check, "", "there is no folder; what could be kept is fetched again")
		return
	}
	f, err := "", os.MkdirAll(path, 0o700)
	if err == nil {
		f, err = os.MkdirTemp(path, "doctor-")
	}
	if err != nil {
		d.fail(check, "make room, or let yourself write there", fmt.Errorf("%w: %w", cpar.ErrStorage, err))
		return
	}
	os.Remove(f)
	var held uint64
	_ = filepath.WalkDir(path, func(_ string, e os.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not counted
		}
		if info, err := e.Info(); err == nil && e.Type().IsRegular() {
			held += uint64(info.Size())
		}
		return nil
	})
	d.ok(check, "%s holds %s", untrusted.Text(path), size(held))
}
