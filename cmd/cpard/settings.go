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
	// values and endings are completed by a shell. A Path without endings
	// accepts any file, or folders if folder is set.
	values, endings []string
	folder          bool
}

// all are the settings of cpard, in the order of the help. A secret is never a
// setting itself: the setting names a file.
var all = []setting{
	{Setting: settings.Setting{Name: "data", What: "data folder", None: "none", Path: true}, folder: true,
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Data, name, "", what) }},
	{Setting: settings.Setting{Name: "store", What: "object storage that indexes are kept in, such as s3://BUCKET/PREFIX?region=REGION, azblob://CONTAINER/PREFIX or gs://BUCKET/PREFIX", None: "the data folder"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Objects.Address, name, "", what) }},
	{Setting: settings.Setting{Name: "store-credentials", What: "its credentials, a file of lines NAME=VALUE that nobody else may read", None: "the environment", Path: true},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Objects.Credentials, name, "", what)
		}},
	{Setting: settings.Setting{Name: "cache-bytes", What: "the most that the data folder keeps of object storage"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.Objects.CacheBytes, "16GiB"), name, what)
		}},
	{Setting: settings.Setting{Name: "nats", What: "NATS servers of a cluster of machines, such as tls://a:4222,tls://b:4222,tls://c:4222; needs store", None: "this machine is alone"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Cluster.Servers, name, "", what)
		}},
	{Setting: settings.Setting{Name: "nats-seed", What: "seed of the nkey that the servers know, a file that nobody else may read", None: "none", Path: true},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Cluster.Seed, name, "", what) }},
	{Setting: settings.Setting{Name: "nats-ca", What: "authorities of the servers' certificates, a PEM file", None: "the system's", Path: true}, endings: []string{"pem", "crt"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Cluster.CA, name, "", what) }},
	{Setting: settings.Setting{Name: "role", What: "what this machine does in the cluster: router (takes requests), node (holds indexes), all"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Parsed("all", "string", func(s string) (err error) {
				o.Cluster.Role, err = cluster.ParseRole(s)
				return err
			}), name, what)
		},
		values: []string{"all", "router", "node"}},
	{Setting: settings.Setting{Name: "node-name", What: "name of this machine in the cluster, which no other has", None: "that of the host"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Cluster.Name, name, "", what) }},
	{Setting: settings.Setting{Name: "rack", What: "what may fail together with this machine: no index has both its copies in one", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Cluster.Rack, name, "", what) }},
	{Setting: settings.Setting{Name: "part-bytes", What: "the least that one machine searches of an index; the same on all of a cluster"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.minShardBytes, "200MiB"), name, what)
		}},
	{Setting: settings.Setting{Name: "listen", What: "address and port; port 0 picks a free one; beyond loopback only with TLS and a tenant"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Listen, name, "127.0.0.1:8080", what)
		}},
	{Setting: settings.Setting{Name: "tls-cert", What: "certificate for TLS, with its chain, a PEM file; read again when it changes", None: "none", Path: true}, endings: []string{"pem", "crt"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Network.Cert, name, "", what) }},
	{Setting: settings.Setting{Name: "tls-key", What: "its key, a PEM file", None: "none", Path: true}, endings: []string{"pem", "key"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Network.Key, name, "", what) }},
	{Setting: settings.Setting{Name: "client-ca", What: "authorities, a PEM file: clients must show a certificate of one of them", None: "none", Path: true}, endings: []string{"pem", "crt"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Network.ClientCA, name, "", what)
		}},
	{Setting: settings.Setting{Name: "acme-domain", What: "name to have a certificate issued for by ACME, whose terms are agreed to; repeatable", None: "none"},
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
	{Setting: settings.Setting{Name: "acme-email", What: "address that the directory may write to", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringVar(&o.Network.ACME.Email, name, "", what)
		}},
	{Setting: settings.Setting{Name: "insecure-http", What: "plain HTTP also beyond loopback, for a proxy that ends TLS; needs a tenant"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.BoolVar(&o.Network.InsecureHTTP, name, false, what)
		}},
	{Setting: settings.Setting{Name: "allowed-host", What: "name that clients call the cloud by, besides those of its certificate; repeatable", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.StringSliceVar(&o.Network.Hosts, name, nil, what)
		}},
	{Setting: settings.Setting{Name: "max-connections", What: "connections at once; further ones wait", None: "1024, or half of the open files that the system allows"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.IntVar(&o.Network.MaxConnections, name, 0, what)
		}},
	{Setting: settings.Setting{Name: "max-memory", What: "memory for bodies, requests and replies together; beyond it clients are told to come back later"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.Admit.Memory, "256MiB"), name, what)
		}},
	{Setting: settings.Setting{Name: "max-wait", What: "the longest wait for memory or a turn, before a client is told to come back later"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Admit.Wait, name, 10*time.Second, what)
		}},
	{Setting: settings.Setting{Name: "stop-grace", What: "how long running requests may take after ^C or SIGTERM"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Grace, name, 10*time.Second, what)
		}},
	{Setting: settings.Setting{Name: "workers", What: "number of goroutines that share a scan, the lists or records that a request visits, or a batch of requests; 0 means the number of cores", None: "the number of cores"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.IntVar(&o.Workers, name, 0, what) }},
	{Setting: settings.Setting{Name: "memory", What: "where the vectors of a searched index are kept: map (the files), huge (a copy in pages of 2 MB), auto"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Parsed("auto", "string", func(s string) (err error) {
				o.Memory, err = indexdir.ParseMemory(s)
				return err
			}), name, what)
		},
		values: []string{"map", "huge", "auto"}},
	{Setting: settings.Setting{Name: "max-loaded", What: "the most indexes in memory at once; the one that was used longest ago goes"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.IntVar(&o.Store.MaxLoaded, name, 64, what) }},
	{Setting: settings.Setting{Name: "max-copied", What: "the most memory for copies of indexes (see memory)", None: "half of what is free at the start"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.Store.MaxCopied, "0"), name, what)
		}},
	{Setting: settings.Setting{Name: "unload-after", What: "how long an index stays in memory without a request"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Store.Idle, name, 15*time.Minute, what)
		}},
	{Setting: settings.Setting{Name: "scrub-rate", What: "how much is read in a second to find damage; 0 looks for none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.Var(settings.Size(&o.Store.ScrubRate, "16MiB"), name, what)
		}},
	{Setting: settings.Setting{Name: "scrub-every", What: "how often everything is read to find damage, if the rate allows", None: "1h, with --store 24h"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Store.ScrubEvery, name, 0, what)
		}},
	{Setting: settings.Setting{Name: "keep-pending", What: "how long an upload that was never activated is kept"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.DurationVar(&o.Store.KeepPending, name, 24*time.Hour, what)
		}},
	{Setting: settings.Setting{Name: "max-pending", What: "the most indexes of a tenant that were never activated; the one that was longest without an upload goes"},
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
	{Setting: settings.Setting{Name: "log-clients", What: "log the addresses of clients, by which requests can be told apart by person"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.BoolVar(&o.LogClients, name, false, what) }},
	{Setting: settings.Setting{Name: "metrics-listen", What: "loopback address and port for metrics and readiness, such as 127.0.0.1:9090", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Watch.Listen, name, "", what) }},
	{Setting: settings.Setting{Name: "insecure-metrics-anywhere", What: "allow metrics on an address that others reach, without token and in the clear"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) {
			f.BoolVar(&o.Watch.InsecureAnywhere, name, false, what)
		}},
	{Setting: settings.Setting{Name: "otlp-endpoint", What: "URL of an OpenTelemetry collector to send traces to, such as http://127.0.0.1:4318", None: "none"},
		flag: func(f *pflag.FlagSet, o *options, name, what string) { f.StringVar(&o.Watch.Traces, name, "", what) }},
	{Setting: settings.Setting{Name: "pprof", What: "serve Go's profiles beside the metrics, on loopback only"},
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
		Short: "show which settings apply, and from where",
		Long: `config shows what holds for serve, and where it comes from. In this order: the flag, the
environment, the configuration file, the default. The file is the one that --config or
CPARD_CONFIG names; else cpard/cpard.toml in your configuration folder (on Linux ~/.config) if
it is there, else /etc/cpard/cpard.toml; none means no file. In it a setting is called as its flag,
and one that it misspells is an error. Paths in it may begin with ~/, and count from its own
folder. Sizes are written like 512MB or 4GiB, durations like 90s or 24h, a flag that can be
repeated as a list (in the environment with commas). Nothing secret is in it: settings name
the files that secrets are in.

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
