package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"cpar"
	"cpar/cloud/listen"
	"cpar/cloud/tenant"
	"cpar/internal/doctor"
	"cpar/internal/durable"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/sanitize"
	"cpar/internal/settings"
)

// The doctor command warns of values below these constants.
const (
	spaceWanted       = 1 << 30 // a large index takes 700 MB
	descriptorsWanted = 4 * listen.DefaultConnections
	renewedBefore     = 14 * 24 * time.Hour
)

// doctorFlags checks everything that serve needs. Tests replace its functions.
type doctorFlags struct {
	options
	doctor.List

	now          func() time.Time
	free         func(folder string) (bytes int64, known bool)
	memory       func() (bytes uint64, known bool)
	descriptors  func() int
	synchronised func() (yes, known bool)
}

func newDoctor(file *string) *cobra.Command {
	d := doctorFlags{now: time.Now, free: durable.FreeBytes, memory: indexdir.AvailableMemory, descriptors: listen.Descriptors, synchronised: clockSynchronised}
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "check settings, folder, space, tenants, listening, certificate, clock and memory",
		Long: `doctor checks everything that serve needs, with the settings that serve would use: the
configuration file, the data folder and its permissions, free space, open files, tenants, the
rules for the address, the certificate and its expiry, the clock, and the memory. It prints a
remedy for each problem. It changes nothing, does not listen, and may run beside a server. Run
it as the user of serve. The exit code is that of the first failure. Warnings do not count.`,
		Example: `  $ sudo -u cpard cpard doctor
  ok    data         /var/lib/cpard
  ok    tenants      2; every request needs a token`,
		Args: noArguments,
		// Do not apply settings first, because doctor reports a broken
		// configuration file as a problem.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(c *cobra.Command, _ []string) error {
			d.run(c, *file)
			if err := d.Print(c.OutOrStdout(), asJSON); err != nil {
				return err
			}
			return d.Err()
		},
	}
	return jsonFlag(addFlags(c, &d.options), &asJSON)
}

func (d *doctorFlags) run(c *cobra.Command, file string) {
	d.checkSettings(c, file)
	if d.Data != "" {
		d.checkData()
		d.checkNetwork()
	}
	d.checkDescriptors()
	d.checkClock()
	d.checkMemory()
}

func (d *doctorFlags) checkSettings(c *cobra.Command, file string) {
	path, _ := table.File(file)
	err := table.Apply(c, file)
	if err == nil {
		err = d.check()
	}
	switch {
	case err != nil:
		d.Fail("settings", cmp.Or(hint.Of(err), "see what applies: cpard config"), err)
	case path == "":
		d.OK("settings", "from flags and the environment; there is no file")
	default:
		d.OK("settings", "from %s, the environment and flags", sanitize.Text(path))
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, table.Environment("")) && name != table.Environment("config") &&
			!slices.ContainsFunc(table.Settings, func(s settings.Setting) bool { return table.Environment(s.Name) == name }) {
			d.Warn("settings", "for the settings, see cpard config --help", "$%s is no setting and is ignored", sanitize.Text(name))
		}
	}
}

func (d *doctorFlags) checkData() {
	info, err := os.Stat(d.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Warn("data", "cpard serve creates it", "%s does not exist", sanitize.Text(d.Data))
		return
	case err != nil:
		d.Fail("data", "name another with --data", fmt.Errorf("%w: %w", cpar.ErrStorage, err))
		return
	case !info.IsDir():
		d.Fail("data", "name another with --data", fmt.Errorf("%w: %s is not a folder", cpar.ErrInput, d.Data))
		return
	}
	probe, err := os.MkdirTemp(d.Data, "doctor-")
	if err != nil {
		d.Fail("data", "run this as the user of cpard serve, or let this user write there", fmt.Errorf("%w: %w", cpar.ErrStorage, err))
	} else {
		os.Remove(probe)
		d.OK("data", "%s", sanitize.Text(d.Data))
	}
	d.checkPrivate("data", d.Data, "700")
	switch free, known := d.free(d.Data); {
	case !known:
		d.Warn("space", "", "the system does not say how much is free")
	case free < spaceWanted:
		d.Warn("space", "free some space on the disk of "+sanitize.Text(d.Data), "%s are free", humanize.IBytes(uint64(max(free, 0))))
	default:
		d.OK("space", "%s are free", humanize.IBytes(uint64(free)))
	}
}

// checkPrivate warns if other users can read a file. Windows has no such
// permissions.
func (d *doctorFlags) checkPrivate(check, path, mode string) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		d.Warn(check, "chmod "+mode+" "+sanitize.Text(path), "others may read %s", sanitize.Text(path))
	}
}

func (d *doctorFlags) checkNetwork() {
	n := d.Network
	n.Address, n.ACME.Cache = d.Listen, filepath.Join(d.Data, "acme")
	tenants, err := tenant.Open(d.Data, false, nil)
	switch {
	case err != nil:
		d.Fail("tenants", cmp.Or(hint.Of(err), "take the registry from a backup"), err)
		return
	case tenants.Needed():
		n.Tenants = true
		d.OK("tenants", "%d; every request needs a token", tenants.Stats().Tenants)
	default:
		d.OK("tenants", "none: every program on this machine may use it (cpard tenant add)")
	}
	if err := n.Check(); err != nil {
		d.Fail("listen", hint.Of(err), err)
		return
	}
	d.OK("listen", "%s", sanitize.Text(d.Listen))
	if d.Network.Key != "" {
		d.checkPrivate("certificate", d.Network.Key, "600")
	}
	d.checkCertificates(n)
}

func (d *doctorFlags) checkCertificates(n listen.Options) {
	all, err := n.Certificates()
	if err != nil {
		d.Fail("certificate", hint.Of(err), err)
		return
	}
	if missing := len(n.ACME.Domains) - len(all); missing > 0 {
		d.Warn("certificate", "cpard serve requests them; port 443 of each name must lead to it", "ACME has %d more to issue", missing)
	}
	for _, c := range all {
		names := slices.Clone(c.DNSNames)
		for _, ip := range c.IPAddresses {
			names = append(names, ip.String())
		}
		of := sanitize.Text(strings.Join(names, ", "))
		switch now := d.now(); {
		case now.Before(c.NotBefore):
			d.Fail("certificate", "set the clock, or wait", fmt.Errorf("%w: the certificate of %s begins %s", cpar.ErrInput, of, c.NotBefore.Format(time.DateTime)))
		case now.After(c.NotAfter):
			d.Fail("certificate", "renew it", fmt.Errorf("%w: the certificate of %s ended %s", cpar.ErrInput, of, c.NotAfter.Format(time.DateTime)))
		case c.NotAfter.Sub(now) < renewedBefore:
			d.Warn("certificate", "renew it", "the certificate of %s ends %s", of, c.NotAfter.Format(time.DateTime))
		default:
			d.OK("certificate", "of %s, until %s", of, c.NotAfter.Format(time.DateTime))
		}
	}
}

func (d *doctorFlags) checkDescriptors() {
	switch n := d.descriptors(); {
	case n == 0:
		d.OK("files", "the system reports no limit on open files")
	case n < descriptorsWanted:
		d.Warn("files", "raise the limit (LimitNOFILE in the unit, ulimit -n)", "%d may be open; half of them are for connections", n)
	default:
		d.OK("files", "%d may be open", n)
	}
}

func (d *doctorFlags) checkClock() {
	switch yes, known := d.synchronised(); {
	case !known:
		d.OK("clock", "it is %s; the system does not say whether that is right", d.now().Format(time.DateTime))
	case !yes:
		d.Warn("clock", "synchronise it with a time server", "the clock says %s, and nothing keeps it right; tokens and certificates expire by it", d.now().Format(time.DateTime))
	default:
		d.OK("clock", "it is synchronised")
	}
}

func (d *doctorFlags) checkMemory() {
	bound := uint64(d.Admit.Memory)
	switch n, known := d.memory(); {
	case !known:
		d.OK("memory", "bodies and replies take at most %s; the system does not say how much is free", humanize.IBytes(bound))
	case n < 2*bound:
		d.Warn("memory", "lower --max-memory, or add memory", "bodies and replies may take %s, and %s are free for these and for indexes", humanize.IBytes(bound), humanize.IBytes(n))
	default:
		d.OK("memory", "bodies and replies take at most %s of %s that are free", humanize.IBytes(bound), humanize.IBytes(n))
	}
}
