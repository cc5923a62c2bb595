package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"cpar/cloud/cluster"
	"cpar/cloud/daemon"
	"cpar/internal/exitcode"
)

func newServe() *cobra.Command {
	var o options
	return addFlags(&cobra.Command{
		Use:   "serve --data DIR",
		Short: "serve a data folder until interrupted",
		Long: `serve opens a data folder, creates it if necessary, and serves it until it is interrupted.
It then finishes running requests. SIGHUP reloads its certificates.

On a loopback address and without tenants, every program on this machine may use it. Other
machines may use it only if there is a tenant (cpard tenant add) and TLS: either --tls-cert
and --tls-key, which are reloaded when the files or a symbolic link to them change, or
--acme-domain, whose certificate Let's Encrypt or another --acme-directory issues and renews
through port 443 of that name. ACME keys and certificates are stored in DIR/acme. With
--client-ca a client must also present a certificate. --insecure-http is for a proxy that
terminates TLS: name the hosts that clients use with --allowed-host. A socket passed by
systemd replaces the address.

Bodies, requests and replies take at most --max-memory, which is reserved as a body arrives.
Requests take turns, fairly across tenants. A request that cannot be served within
--max-wait gets status 503 and a time to retry.

With --store indexes are kept in object storage. The data folder then holds tenants,
certificates and a cache of at most --cache-bytes, into which an index must fit to be
searched. s3:// takes the parameters region, endpoint, path-style and insecure-http. Its
credentials are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. azblob:// takes endpoint,
AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN. gs:// takes
endpoint, GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY. Credentials come from the environment
or the file --store-credentials. While the storage is unreachable, loaded indexes are still
served and other requests get status 503.

With --memory huge the vectors and planes of an index are copied when it is first searched,
which takes as much memory as their files. auto copies an index with a forest if twice as
much memory is free. Otherwise the files are mapped, and the system decides which parts stay
in memory. An index of scheme sealed is scanned from front to back, so auto maps it. At level
info the log records the choice.

The log goes to standard error. At level debug it has a line for each request with its id,
method, route, index, status, bytes and durations. It never has contents. It has client
addresses only with --log-clients.

A background task reads everything stored and loaded at --scrub-rate to find damage. A
damaged index gets status 503 until its owner pushes it again, which sends only the damaged
parts. Uploads that were never activated are removed after --keep-pending, and deleted blobs
of albums after --keep-deleted (cpard album undelete recovers them before). Loaded indexes are
unloaded after --unload-after or to make room.

With --metrics-listen it serves /metrics for Prometheus, and /readyz with the reasons for not
being ready, to the operator. At the address of the cloud, everyone may read /healthz and
/readyz, which answer yes or no.`,
		Example: `  $ cpard serve --data ~/cpar-cloud --listen 127.0.0.1:8080
  listening on http://127.0.0.1:8080
  bodies, requests and replies take at most 256 MiB

  $ cpard serve --data /var/lib/cpard --listen :443 --acme-domain photos.example
  listening on https://[::]:443`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			o.Log = newLog(c.ErrOrStderr(), o.level, o.jsonLog)
			o.Ready = func(url string) {
				if url == "" {
					fmt.Fprintf(c.OutOrStdout(), "node %s serves\n", o.Cluster.Name)
					return
				}
				// Write both lines at once, so that a program that waits for
				// the first also gets the second.
				fmt.Fprintf(c.OutOrStdout(), "listening on %s\nbodies, requests and replies take at most %s\n", url, humanize.IBytes(uint64(o.Admit.Memory)))
			}
			hangup := make(chan os.Signal, 1)
			signal.Notify(hangup, syscall.SIGHUP)
			defer signal.Stop(hangup)
			o.Reload = hangup
			return daemon.Run(c.Context(), o.Options)
		},
	}, &o)
}

func (o *options) check() error {
	if err := needData(o.Data); err != nil {
		return err
	}
	if o.Objects.Address != "" && o.Objects.CacheBytes <= 0 {
		return exitcode.UsageError(fmt.Errorf("--cache-bytes %d; an index must fit in to be searched", o.Objects.CacheBytes))
	}
	if err := o.checkCluster(); err != nil {
		return err
	}
	if o.Workers < 0 {
		return exitcode.UsageError(fmt.Errorf("--workers %d; it must be at least 1, or 0 for the number of cores", o.Workers))
	}
	if s := o.Store; s.MaxLoaded < 1 || s.MaxPending < 1 || s.Idle <= 0 || s.ScrubEvery < 0 || s.KeepPending <= 0 || s.KeepDeleted <= 0 {
		return exitcode.UsageError(fmt.Errorf("--max-loaded, --max-pending, --unload-after, --scrub-every, --keep-pending and --keep-deleted must be more than 0"))
	}
	if o.Store.ScrubRate == 0 {
		o.Store.ScrubRate = -1 // off; package store reads 0 as the default
	}
	if o.Admit.Memory < minMemory {
		return exitcode.UsageError(fmt.Errorf("--max-memory %d; the largest body needs %s", o.Admit.Memory, humanize.IBytes(minMemory)))
	}
	if o.Admit.Wait <= 0 {
		return exitcode.UsageError(fmt.Errorf("--max-wait %v; it must be longer than that", o.Admit.Wait))
	}
	return nil
}

func (o *options) checkCluster() (err error) {
	if o.Cluster.Servers == "" {
		return nil
	}
	if o.minShardBytes <= 0 {
		return exitcode.UsageError(fmt.Errorf("--part-bytes %d; it must be more than 0", o.minShardBytes))
	}
	if o.Cluster.MinShardBytes = uint64(o.minShardBytes); o.Cluster.Name == "" {
		if o.Cluster.Name, err = os.Hostname(); err != nil {
			return exitcode.UsageError(fmt.Errorf("the name of this host is not known (%v); pass --node-name", err))
		}
	}
	return cluster.CheckName(o.Cluster.Name)
}

// minMemory is enough for the largest manifest and the largest batch of a
// tenant. A tenant may use half of the memory for bodies.
const minMemory = 96 << 20

func needData(data string) error {
	if data == "" {
		return exitcode.UsageError(fmt.Errorf("which folder? pass --data DIR"))
	}
	return nil
}

func newLog(w io.Writer, level slog.Level, asJSON bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
