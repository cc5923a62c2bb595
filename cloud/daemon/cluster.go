package daemon

import (
	"context"
	"net"

	sd "github.com/coreos/go-systemd/v22/daemon"

	"cpar/cloud"
	"cpar/cloud/api"
	"cpar/cloud/cluster"
	"cpar/cloud/telemetry"
)

// join joins the cluster, if one is configured, until `leave` is called. It
// returns the store and the annotator that serve requests. Both are nil on a
// machine that is no router.
func (o *Options) join(ctx context.Context, c *cloud.Cloud, metrics *telemetry.Metrics) (indexes api.Store, annotator api.Annotator, leave func(), err error) {
	if o.Cluster.Servers == "" {
		return c.Store, c, func() {}, nil
	}
	o.Cluster.Log, o.Cluster.Idle = o.Log, o.Store.Idle
	m, err := cluster.Open(ctx, c, o.Cluster)
	if err != nil {
		return nil, nil, nil, err
	}
	metrics.Cluster(m.Stats)
	if !o.Cluster.Router {
		return nil, nil, m.Close, nil
	}
	return m.Routed(c), m.Router, m.Close, nil
}

func (o *Options) runNode(ctx context.Context, c *cloud.Cloud, metrics *telemetry.Metrics, operator net.Listener, checks []telemetry.Check) error {
	if operator != nil {
		go o.Watch.Serve(ctx, operator, metrics, telemetry.NewReadiness(append(checks, telemetry.FolderCheck(o.Data))...), o.Log)
	}
	defer c.Maintain(ctx)()
	o.Log.Info("serving", "node", o.Cluster.Name)
	o.notify(sd.SdNotifyReady)
	if o.Ready != nil {
		o.Ready("")
	}
	<-ctx.Done()
	return nil
}
