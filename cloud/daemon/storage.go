package daemon

import (
	"cmp"
	"fmt"
	"time"

	"cpar"
	"cpar/cloud"
	"cpar/cloud/remote"
	"cpar/cloud/telemetry"
	"cpar/internal/hint"
)

type Storage struct {
	Address     string // address of object storage; "" for the data folder
	Credentials string // file with credentials; "" for the environment
	CacheBytes  int64  // size of the cache in the data folder
}

// scrubStorageEvery is the default interval between two complete reads of an
// object storage, which check for damage. It is long because reading costs money
// and the provider checks its own disks.
const scrubStorageEvery = 24 * time.Hour

// clusterMaxLoaded is the minimum of Store.MaxLoaded, the limit of loaded shards,
// on a machine in a cluster.
const clusterMaxLoaded = 4096

// open returns the cloud over its storage, and the storage's readiness checks.
func (o *Options) open(metrics *telemetry.Metrics) (*cloud.Cloud, []telemetry.Check, error) {
	if o.Objects.Address == "" && o.Cluster.Servers != "" {
		return nil, nil, hint.Add(fmt.Errorf("%w: a cluster keeps its indexes where all machines can read them", cpar.ErrInput), "name object storage with --store")
	}
	if o.Objects.Address == "" {
		c, err := cloud.New(o.Data, o.Store)
		return c, nil, err
	}
	b, err := remote.OpenAddress(o.Objects.Address, o.Objects.Credentials, remote.Options{Data: o.Data, CacheBytes: o.Objects.CacheBytes, Wait: o.Admit.Wait, Log: o.Log})
	if err != nil {
		return nil, nil, err
	}
	o.Store.ScrubEvery = cmp.Or(o.Store.ScrubEvery, scrubStorageEvery)
	if o.Cluster.Servers != "" {
		o.Store.MaxLoaded = max(o.Store.MaxLoaded, clusterMaxLoaded)
		if !o.Cluster.Router { // routers scrub the storage
			o.Store.ScrubRate = -1
		}
	}
	metrics.Storage(b.Stats)
	return cloud.Over(b, o.Store), []telemetry.Check{telemetry.StorageCheck(b.Reach)}, nil
}
