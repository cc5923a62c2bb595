package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cpar/cloud/album"
	"cpar/cloud/cluster"
	"cpar/cloud/daemon"
	"cpar/internal/exitcode"
	"cpar/internal/indexdir"
	"cpar/internal/settings"
)

type options struct {
	daemon.Options
	level   slog.Level
	jsonLog bool
	// minShardBytes is Cluster.MinShardBytes as parsed from the flag.
	minShardBytes int64
}

// A setting is a row of the table in method settings. It is a flag of serve and
// of commands that pass its name to addFlags.
type setting struct {
	name, what string
	none       string // the default in words, or "" to show the default value
	to         any    // a pointer to the value, or a pflag.Value
	initial    any    // the default, if `to` is a pointer
	completion
}

// A completion determines the values of a flag that the shell offers.
type completion struct {
	values []string // values, or endings of file names if path is set
	path   bool     // whether to offer files
	folder bool     // whether to offer folders
}

var anything, folder = completion{}, completion{path: true, folder: true}

func oneOf(values ...string) completion { return completion{values: values} }

func file(endings ...string) completion { return completion{values: endings, path: true} }

// settings returns the settings of cpard in the order of the help. They contain
// no secrets, only names of files with secrets.
func (o *options) settings() []setting {
	return []setting{
		{"data", "data folder", "none", &o.Data, "", folder},
		{"store", "object storage for indexes, such as s3://BUCKET/PREFIX?region=REGION, azblob://CONTAINER/PREFIX or gs://BUCKET/PREFIX", "the data folder", &o.Objects.Address, "", anything},
		{"store-credentials", "private file with credentials for the storage, in lines NAME=VALUE", "the environment", &o.Objects.Credentials, "", file()},
		{"cache-bytes", "maximum size of the cache of object storage in the data folder", "", &o.Objects.CacheBytes, "16GiB", anything},
		{"nats", "NATS servers of a cluster, such as tls://a:4222,tls://b:4222,tls://c:4222 (needs store)", "no cluster", &o.Cluster.Servers, "", anything},
		{"nats-seed", "private file with the seed of the nkey that the servers accept", "none", &o.Cluster.Seed, "", file()},
		{"nats-ca", "authorities of the servers' certificates, a PEM file", "the system's", &o.Cluster.CA, "", file("pem", "crt")},
		{"role", "role in the cluster: router (takes requests), node (holds indexes), or all", "", settings.Parsed("all", "string", o.parseRole), nil, oneOf("all", "router", "node")},
		{"node-name", "unique name of this node in the cluster", "the host name", &o.Cluster.Name, "", anything},
		{"rack", "failure domain of this node: no rack gets both copies of a part", "none", &o.Cluster.Rack, "", anything},
		{"part-bytes", "minimum size of a part of an index (the same on all nodes)", "", &o.minShardBytes, "200MiB", anything},
		{"listen", "address and port (port 0 picks a free one; addresses other than loopback need TLS and a tenant)", "", &o.Listen, "127.0.0.1:8080", anything},
		{"tls-cert", "TLS certificate with its chain, a PEM file (reloaded when it changes)", "none", &o.Network.Cert, "", file("pem", "crt")},
		{"tls-key", "key of the TLS certificate, a PEM file", "none", &o.Network.Key, "", file("pem", "key")},
		{"client-ca", "authorities of client certificates, a PEM file (clients must present one)", "none", &o.Network.ClientCA, "", file("pem", "crt")},
		{"acme-domain", "name for which ACME issues a certificate, accepting its terms (repeatable)", "none", &o.Network.ACME.Domains, []string(nil), anything},
		{"acme-directory", "URL of the ACME directory", "Let's Encrypt", &o.Network.ACME.Directory, "", anything},
		{"acme-ca", "authorities of the directory's own certificate, a PEM file", "the system's", &o.Network.ACME.CA, "", file("pem", "crt")},
		{"acme-email", "contact address for the directory", "none", &o.Network.ACME.Email, "", anything},
		{"insecure-http", "plain HTTP beyond loopback, for a proxy that terminates TLS (needs a tenant)", "", &o.Network.InsecureHTTP, false, anything},
		{"allowed-host", "additional host name of the cloud, besides the names in its certificate (repeatable)", "none", &o.Network.Hosts, []string(nil), anything},
		{"max-connections", "maximum simultaneous connections (others wait)", "1024, or half of the limit on open files", &o.Network.MaxConnections, 0, anything},
		{"max-memory", "maximum memory for bodies, requests and replies (beyond it, clients must retry later)", "", &o.Admit.Memory, "256MiB", anything},
		{"max-wait", "maximum wait for memory or a turn, before a client must retry later", "", &o.Admit.Wait, 10 * time.Second, anything},
		{"stop-grace", "time for running requests to finish after ^C or SIGTERM", "", &o.Grace, 10 * time.Second, anything},
		{"workers", "number of goroutines that share a search or a batch of requests (0: the number of cores)", "the number of cores", &o.Workers, 0, anything},
		{"memory", "where to keep the vectors of a searched index: map (the files), huge (a copy in pages of 2 MB), or auto", "", settings.Parsed("auto", "string", o.parseMemory), nil, oneOf("map", "huge", "auto")},
		{"max-loaded", "maximum number of loaded indexes (the least recently used is unloaded)", "", &o.Store.MaxLoaded, 64, anything},
		{"max-copied", "maximum memory for copies of indexes (see memory)", "half of the memory free at the start", &o.Store.MaxCopied, "0", anything},
		{"unload-after", "how long an unused index stays loaded", "", &o.Store.Idle, 15 * time.Minute, anything},
		{"scrub-rate", "bytes read per second to find damage (0: off)", "", &o.Store.ScrubRate, "16MiB", anything},
		{"scrub-every", "interval between complete reads to find damage, if the rate allows", "1h, or 24h with --store", &o.Store.ScrubEvery, time.Duration(0), anything},
		{"keep-pending", "how long to keep an upload that was never activated", "", &o.Store.KeepPending, 24 * time.Hour, anything},
		{"keep-deleted", "how long deleted and replaced blobs of albums stay recoverable", "", &o.Store.KeepDeleted, album.KeepDeleted, anything},
		{"max-pending", "maximum number of never activated indexes per tenant (the one with the oldest upload is removed)", "", &o.Store.MaxPending, 256, anything},
		{"log-level", "debug, info, warn or error", "", settings.Parsed("warn", "string", o.parseLevel), nil, oneOf("debug", "info", "warn", "error")},
		{"log-format", "text or json", "", settings.Parsed("text", "string", o.parseFormat), nil, oneOf("text", "json")},
		{"log-clients", "log the addresses of clients, which may identify people", "", &o.LogClients, false, anything},
		{"metrics-listen", "loopback address and port for metrics and readiness, such as 127.0.0.1:9090", "none", &o.Watch.Listen, "", anything},
		{"insecure-metrics-anywhere", "allow metrics on a public address, without token or encryption", "", &o.Watch.InsecureAnywhere, false, anything},
		{"otlp-endpoint", "URL of an OpenTelemetry collector to send traces to, such as http://127.0.0.1:4318", "none", &o.Watch.Traces, "", anything},
		{"pprof", "serve Go's profiles beside the metrics, only on loopback", "", &o.Watch.Profile, false, anything},
	}
}

func (s setting) add(f *pflag.FlagSet) {
	switch to := s.to.(type) {
	case *string:
		f.StringVar(to, s.name, s.initial.(string), s.what)
	case *[]string:
		f.StringSliceVar(to, s.name, nil, s.what)
	case *bool:
		f.BoolVar(to, s.name, false, s.what)
	case *int:
		f.IntVar(to, s.name, s.initial.(int), s.what)
	case *int64:
		f.Var(settings.Size(to, s.initial.(string)), s.name, s.what)
	case *time.Duration:
		f.DurationVar(to, s.name, s.initial.(time.Duration), s.what)
	case pflag.Value:
		f.Var(to, s.name, s.what)
	}
}

var table = settings.Table{Program: "cpard", Places: configPlaces, Settings: describe()}

func describe() (out []settings.Setting) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, s := range new(options).settings() {
		if s.add(flags); s.none == "" {
			s.none = flags.Lookup(s.name).DefValue
		}
		out = append(out, settings.Setting{Name: s.name, What: s.what, None: s.none, Path: s.path})
	}
	return out
}

// configPlaces returns candidate paths of the configuration file. The first
// existing file is used, so a user's file replaces the machine's.
func configPlaces() (out []string) {
	if dir, err := os.UserConfigDir(); err == nil {
		out = append(out, filepath.Join(dir, "cpard", "cpard.toml"))
	}
	return append(out, "/etc/cpard/cpard.toml")
}

// addFlags adds the flags of the settings in `names`, or of all settings if
// `names` is empty.
func addFlags(c *cobra.Command, o *options, names ...string) *cobra.Command {
	for _, s := range o.settings() {
		if len(names) == 0 || slices.Contains(names, s.name) {
			s.add(c.Flags())
		}
	}
	return c
}

func jsonFlag(c *cobra.Command, to *bool) *cobra.Command {
	c.Flags().BoolVar(to, "json", false, "print JSON instead of text")
	return c
}

func complete(c *cobra.Command) {
	for _, s := range new(options).settings() {
		if c.Flags().Lookup(s.name) == nil {
			continue
		}
		var err error
		switch {
		case s.folder:
			err = c.MarkFlagDirname(s.name)
		case s.path:
			err = c.MarkFlagFilename(s.name, s.values...)
		default:
			err = c.RegisterFlagCompletionFunc(s.name, cobra.FixedCompletions(s.values, cobra.ShellCompDirectiveNoFileComp))
		}
		if err != nil {
			panic("cpard: " + err.Error()) // impossible, because the flag exists
		}
	}
	for _, sub := range c.Commands() {
		complete(sub)
	}
}

func newConfig(file *string) *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "show the effective settings and their origins",
		Long: `config shows the settings that serve would use, and their origins. The order is: flag,
environment, configuration file, default. The file is the one that --config or CPARD_CONFIG
names, otherwise cpard/cpard.toml in your configuration folder (on Linux ~/.config) if it
exists, otherwise /etc/cpard/cpard.toml. none means no file. Settings in it have the names of
flags, and an unknown one is an error. Paths in it may begin with ~/ and are otherwise
relative to its folder. Sizes are written like 512MB or 4GiB, durations like 90s or 24h, and
repeatable flags as lists (with commas in the environment). The file holds no secrets: settings
name the files that hold them.

` + table.Text(),
		Example: `  $ cat /etc/cpard/cpard.toml
  data = "/var/lib/cpard"
  $ CPARD_LISTEN=127.0.0.1:9090 cpard config
  data    /var/lib/cpard  (file)
  listen  127.0.0.1:9090  (environment)`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			found, err := table.Show(c, *file)
			if err != nil {
				return err
			}
			path, _ := table.File(*file)
			return table.Print(c.OutOrStdout(), path, found, asJSON)
		},
		// Do not apply settings first, because table.Show must distinguish
		// settings from flags on the command line.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
	}
	return jsonFlag(addFlags(c, &o), &asJSON)
}

func (o *options) parseRole(s string) (err error) {
	o.Cluster.Role, err = cluster.ParseRole(s)
	return err
}

func (o *options) parseMemory(s string) (err error) {
	o.Memory, err = indexdir.ParseMemory(s)
	return err
}

func (o *options) parseLevel(s string) error {
	if err := o.level.UnmarshalText([]byte(s)); err != nil {
		return exitcode.UsageError(fmt.Errorf("no log level %q; there are debug, info, warn and error", s))
	}
	return nil
}

func (o *options) parseFormat(s string) error {
	if s != "text" && s != "json" {
		return exitcode.UsageError(fmt.Errorf("no log format %q; there are text and json", s))
	}
	o.jsonLog = s == "json"
	return nil
}
