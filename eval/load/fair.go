package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"cpar"
	"cpar/cloud/tenant"
	"cpar/eval/measure"
	"cpar/internal/bearer"
)

const crowdClients = 64

// A FairnessRow measures one client of one tenant while many clients of another
// tenant send requests. Both tenants have a copy of the same index.
type FairnessRow struct {
	Scheme  string
	Records int
	// AloneP50 and AloneP99 are the single client's median and 99th percentile
	// response times in milliseconds, on an idle cloud.
	AloneP50, AloneP99 float64
	// BesideP50 and BesideP99 are these times while the other tenant's clients
	// send requests.
	BesideP50, BesideP99 float64
	// Wait is BesideP50 divided by 2·AloneP50, the time if each tenant gets
	// half of the cloud.
	Wait float64
	// Crowd is the other tenant's number of answers per second.
	Crowd float64
	// Errors and Shed count failures and refusals of both tenants.
	Errors, Shed int
}

const fairWait = 2

func (b *builder) fair(ctx context.Context, photos *measure.Corpus) ([]FairnessRow, error) {
	c, err := photos.Mixed(ctx, b.Records[0], b.Progress)
	if err != nil {
		return nil, err
	}
	var out []FairnessRow
	for _, scheme := range b.Schemes {
		f, err := b.measureFairness(ctx, c, scheme)
		if err != nil {
			return nil, fmt.Errorf("scheme %v, two tenants: %w", scheme, err)
		}
		out = append(out, f)
	}
	return out, nil
}

func (b *builder) measureFairness(ctx context.Context, c *measure.Corpus, scheme cpar.Scheme) (f FairnessRow, err error) {
	x, err := b.build(ctx, c, scheme)
	if err != nil {
		return f, err
	}
	defer x.Close()
	one, err := token(ctx, x.Folder, "one")
	if err != nil {
		return f, err
	}
	many, err := token(ctx, x.Folder, "many")
	if err != nil {
		return f, err
	}
	d, err := start(ctx, b.Cpard, x.Folder)
	if err != nil {
		return f, err
	}
	defer d.stop()
	for _, t := range []bearer.Token{one, many} {
		if err := x.push(ctx, d, t); err != nil {
			return f, err
		}
	}
	if err := x.recordAnswers(ctx, d, one); err != nil {
		return f, err
	}
	alone, err := x.ask(ctx, d, b.Length, clientGroup{one, 1})
	if err != nil {
		return f, d.explain(err)
	}
	both, err := x.ask(ctx, d, b.Length, clientGroup{one, 1}, clientGroup{many, crowdClients})
	if err != nil {
		return f, d.explain(err)
	}
	f = FairnessRow{Scheme: scheme.String(), Records: x.records,
		AloneP50: percentile(alone[0].took, 0.5), AloneP99: percentile(alone[0].took, 0.99),
		BesideP50: percentile(both[0].took, 0.5), BesideP99: percentile(both[0].took, 0.99),
		Crowd: measure.RoundTo(float64(len(both[1].took))/b.Length.Seconds(), 1)}
	for _, t := range append(alone, both...) {
		f.Errors, f.Shed = f.Errors+t.errors, f.Shed+t.shed
	}
	if f.AloneP50 > 0 {
		f.Wait = measure.RoundTo(f.BesideP50/(2*f.AloneP50), 2)
	}
	return f, d.explain(d.stop())
}

func token(ctx context.Context, folder, name string) (bearer.Token, error) {
	data := dataFolder(folder)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return bearer.Token{}, fmt.Errorf("making the cloud's folder: %w: %w", cpar.ErrStorage, err)
	}
	none := tenant.Limits{StorageBytes: tenant.Unlimited, RequestsPerSecond: tenant.Unlimited, Burst: tenant.Unlimited, Concurrent: tenant.Unlimited}
	made, err := (&tenant.Editor{Data: data}).Add(ctx, name, "load", tenant.Annotate|tenant.Push|tenant.Delete, none)
	return made.Token, err
}

func dataFolder(folder string) string { return filepath.Join(folder, "cloud") }
