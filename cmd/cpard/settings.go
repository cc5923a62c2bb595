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

	"cpar/cloud/cluster"
	"cpar/cloud/daemon"
	"cpar/internal/exitcode"
	"cpar/internal/indexdir"
	"cpar/internal/settings"
)

// options hold the values of the settings.
type options struct {
	daemon.Options
	level   slog.Level
	jsonLog bool
	// minShardBytes is Cluster.MinShardBytes as parsed from a size.
	minShardBytes int64
}

// A setting is a row of the table below: a flag of serve and of the commands
// that name it. flag sets its default.
type setting struct {
	settings.Setting
	flag func(f *pflag.FlagSet, o *options, name, what string)
	// values and endings are offered by shell completion. A Path without
	// endings accepts any file, or folders if folder is set.
	values, endings []string
	folder          bool
}

// all are the settings of cpard, in the order of the help. A secret is never a
// setting itself: the setting names a file.
var all = []setting{
	{Setting: settings.Setting{Name: "data", What: "data folder", None: "none", Path: true}, folder: true,
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Data, name, "", what) }},
	{Setting: settings.Setting{Name: "store", What: "object storage for indexes, such as s3://BUCKET/PREFIX?region=REGION, azblob://CONTAINER/PREFIX or gs://BUCKET/PREFIX", None: "the data folder"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Objects.Address, name, "", what) }},
	{Setting: settings.Setting{Name: "store-credentials", What: "its credentials, a private file of lines NAME=VALUE", None: "the environment", Path: true},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Objects.Credentials, name, "", what)
		}},
	{Setting: settings.Setting{Name: "cache-bytes", What: "maximum size of the cache of object storage in the data folder"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.Objects.CacheBytes, "16GiB"), name, what)
		}},
	{Setting: settings.Setting{Name: "nats", What: "NATS servers of a cluster, such as tls://a:4222,tls://b:4222,tls://c:4222 (needs store)", None: "no cluster"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Cluster.Servers, name, "", what)
		}},
	{Setting: settings.Setting{Name: "nats-seed", What: "seed of the nkey that the servers accept, a private file", None: "none", Path: true},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Cluster.Seed, name, "", what) }},
	{Setting: settings.Setting{Name: "nats-ca", What: "authorities of the servers' certificates, a PEM file", None: "the system's", Path: true}, endings: []string{"pem", "crt"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Cluster.CA, name, "", what) }},
	{Setting: settings.Setting{Name: "role", What: "role in the cluster: router (takes requests), node (holds indexes), or all"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Parsed("all", "string", func(s string) (err error) {
				o.Cluster.Role, err = cluster.ParseRole(s)
				return err
			}), name, what)
		},
		values: []string{"all", "router", "node"}},
	{Setting: settings.Setting{Name: "node-name", What: "unique name of this node in the cluster", None: "the host name"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Cluster.Name, name, "", what) }},
	{Setting: settings.Setting{Name: "rack", What: "failure domain of this node: no rack gets both copies of a part", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Cluster.Rack, name, "", what) }},
	{Setting: settings.Setting{Name: "part-bytes", What: "minimum size of a part of an index (the same on all nodes)"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.minShardBytes, "200MiB"), name, what)
		}},
	{Setting: settings.Setting{Name: "listen", What: "address and port (port 0 picks a free one; other addresses than loopback need TLS and a tenant)"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Listen, name, "127.0.0.1:8080", what)
		}},
	{Setting: settings.Setting{Name: "tls-cert", What: "TLS certificate with its chain, a PEM file (reloaded when it changes)", None: "none", Path: true}, endings: []string{"pem", "crt"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Network.Cert, name, "", what) }},
	{Setting: settings.Setting{Name: "tls-key", What: "its key, a PEM file", None: "none", Path: true}, endings: []string{"pem", "key"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Network.Key, name, "", what) }},
	{Setting: settings.Setting{Name: "client-ca", What: "authorities of client certificates, a PEM file (clients must present one)", None: "none", Path: true}, endings: []string{"pem", "crt"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Network.ClientCA, name, "", what)
		}},
	{Setting: settings.Setting{Name: "acme-domain", What: "name for which ACME issues a certificate, accepting its terms (repeatable)", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringSliceVar(&o.Network.ACME.Domains, name, nil, what)
		}},
	{Setting: settings.Setting{Name: "acme-directory", What: "URL of the ACME directory", None: "Let's Encrypt"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Network.ACME.Directory, name, "", what)
		}},
	{Setting: settings.Setting{Name: "acme-ca", What: "authorities of the directory's own certificate, a PEM file", None: "the system's", Path: true}, endings: []string{"pem", "crt"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Network.ACME.CA, name, "", what)
		}},
	{Setting: settings.Setting{Name: "acme-email", What: "contact address for the directory", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Network.ACME.Email, name, "", what)
		}},
	{Setting: settings.Setting{Name: "insecure-http", What: "plain HTTP beyond loopback, for a proxy that terminates TLS (needs a tenant)"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.BoolVar(&o.Network.InsecureHTTP, name, false, what)
		}},
	{Setting: settings.Setting{Name: "allowed-host", What: "additional host name of the cloud, besides the names in its certificate (repeatable)", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringSliceVar(&o.Network.Hosts, name, nil, what)
		}},
	{Setting: settings.Setting{Name: "max-connections", What: "maximum simultaneous connections (others wait)", None: "1024, or half of the limit on open files"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.IntVar(&o.Network.MaxConnections, name, 0, what)
		}},
	{Setting: settings.Setting{Name: "max-memory", What: "maximum memory for bodies, requests and replies (beyond it, clients must retry later)"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.Admit.Memory, "256MiB"), name, what)
		}},
	{Setting: settings.Setting{Name: "max-wait", What: "maximum wait for memory or a turn, before a client must retry later"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Admit.Wait, name, 10*time.Second, what)
		}},
	{Setting: settings.Setting{Name: "stop-grace", What: "time for running requests to finish after ^C or SIGTERM"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Grace, name, 10*time.Second, what)
		}},
	{Setting: settings.Setting{Name: "workers", What: "number of goroutines that share a search or a batch of requests (0: the number of cores)", None: "the number of cores"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.IntVar(&o.Workers, name, 0, what) }},
	{Setting: settings.Setting{Name: "memory", What: "where to keep the vectors of a searched index: map (the files), huge (a copy in pages of 2 MB), or auto"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Parsed("auto", "string", func(s string) (err error) {
				o.Memory, err = indexdir.ParseMemory(s)
				return err
			}), name, what)
		},
		values: []string{"map", "huge", "auto"}},
	{Setting: settings.Setting{Name: "max-loaded", What: "maximum number of loaded indexes (the least recently used is unloaded)"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.IntVar(&o.Store.MaxLoaded, name, 64, what) }},
	{Setting: settings.Setting{Name: "max-copied", What: "maximum memory for copies of indexes (see memory)", None: "half of the memory free at the start"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.Store.MaxCopied, "0"), name, what)
		}},
	{Setting: settings.Setting{Name: "unload-after", What: "how long an unused index stays loaded"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Store.Idle, name, 15*time.Minute, what)
		}},
	{Setting: settings.Setting{Name: "scrub-rate", What: "bytes read per second to find damage (0: none)"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.Store.ScrubRate, "16MiB"), name, what)
		}},
	{Setting: settings.Setting{Name: "scrub-every", What: "interval between complete reads to find damage, if the rate allows", None: "1h, with --store 24h"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Store.ScrubEvery, name, 0, what)
		}},
	{Setting: settings.Setting{Name: "keep-pending", What: "how long to keep an upload that was never activated"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Store.KeepPending, name, 24*time.Hour, what)
		}},
	{Setting: settings.Setting{Name: "max-pending", What: "maximum number of never activated indexes per tenant (the one with the oldest upload is removed)"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.IntVar(&o.Store.MaxPending, name, 256, what) }},
	{Setting: settings.Setting{Name: "log-level", What: "debug, info, warn or error"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Parsed("warn", "string", func(s string) error { return parseLevel(&o.level, s) }), name, what)
		},
		values: []string{"debug", "info", "warn", "error"}},
	{Setting: settings.Setting{Name: "log-format", What: "text or json"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Parsed("text", "string", func(s string) error { return parseFormat(&o.jsonLog, s) }), name, what)
		},
		values: []string{"text", "json"}},
	{Setting: settings.Setting{Name: "log-clients", What: "log the addresses of clients, which may identify people"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.BoolVar(&o.LogClients, name, false, what) }},
	{Setting: settings.Setting{Name: "metrics-listen", What: "loopback address and port for metrics and readiness, such as 127.0.0.1:9090", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Watch.Listen, name, "", what) }},
	{Setting: settings.Setting{Name: "insecure-metrics-anywhere", What: "allow metrics on a public address, without token or encryption"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.BoolVar(&o.Watch.InsecureAnywhere, name, false, what)
		}},
	{Setting: settings.Setting{Name: "otlp-endpoint", What: "URL of an OpenTelemetry collector to send traces to, such as http://127.0.0.1:4318", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Watch.Traces, name, "", what) }},
	{Setting: settings.Setting{Name: "pprof", What: "serve Go's profiles beside the metrics, only on loopback"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.BoolVar(&o.Watch.Profile, name, false, what) }},
}

// table describes the settings without their flags.
var table = settings.Table{Program: "cpard", Places: configPlaces, Settings: describe()}

func describe() (out []settings.Setting) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, s := range all {
		s.flag(flags, new(options), s.Name, s.What)
		if s.None == "" {
			s.None = flags.Lookup(s.Name).DefValue
		}
		out = append(out, s.Setting)
	}
	return out
}

// configPlaces returns candidate paths of the configuration file. A user's own
// replaces the machine's.
func configPlaces() (out []string) {
	if dir, err := os.UserConfigDir(); err == nil {
		out = append(out, filepath.Join(dir, "cpard", "cpard.toml"))
	}
	return append(out, "/etc/cpard/cpard.toml")
}

// addFlags adds the flags of the named settings, or of all.
func addFlags(c *cobra.Command, o *options, names ...string) {
	for _, s := range all {
		if len(names) == 0 || slices.Contains(names, s.Name) {
			s.flag(c.Flags(), o, s.Name, s.What)
		}
	}
}

// complete adds shell completion to a command and its subcommands.
func complete(c *cobra.Command) {
	for _, s := range all {
		if c.Flags().Lookup(s.Name) == nil {
			continue
		}
		var err error
		switch {
		case s.values != nil:
			err = c.RegisterFlagCompletionFunc(s.Name, cobra.FixedCompletions(s.values, cobra.ShellCompDirectiveNoFileComp))
		case s.folder:
			err = c.MarkFlagDirname(s.Name)
		case s.Path:
			err = c.MarkFlagFilename(s.Name, s.endings...)
		default:
			err = c.RegisterFlagCompletionFunc(s.Name, cobra.NoFileCompletions)
		}
		if err != nil {
			panic("cpard: " + err.Error()) // the flag was just looked up
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
name the files of secrets.

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
		// Show must distinguish flags on the command line from applied
		// settings.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
	}
	addFlags(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	return c
}

func parseLevel(to *slog.Level, s string) error {
	if err := to.UnmarshalText([]byte(s)); err != nil {
		return exitcode.UsageError(errLevel(s))
	}
	return nil
}

func parseFormat(asJSON *bool, s string) error {
	if s != "text" && s != "json" {
		return exitcode.UsageError(fmt.Errorf("no log format %q; there are text and json", s))
	}
	*asJSON = s == "json"
	return nil
}
