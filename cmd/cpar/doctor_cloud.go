package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/user"
	"cpar/user/device"
)

// mostSkew is how far the cloud's clock may differ, which nothing depends on but logs.
const mostSkew = 5 * time.Minute

func (d *doctor) checkCloud(ctx context.Context, this *device.Device, key *user.Key) {
	if d.cloud.url == "" {
		d.warn("cloud", "pass --cloud URL, or set it in the configuration file (cpar config)", "none was named")
		d.ok("formats", "version %d here", cpar.Version)
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
	} else {
		d.warn("clock", "", "the cloud does not say what time it is")
	}
	known := d.checkIndex(ctx, this, key, client, list)
	d.checkFormats(ctx, client, known)
}

// checkIndex looks for the index in use at the cloud. read is whether its manifest was read, and so
// is in this program's format.
func (d *doctor) checkIndex(ctx context.Context, this *device.Device, key *user.Key, client *cparhttp.Client, list []cparhttp.IndexInfo) (read bool) {
	if key == nil {
		return false
	}
	used, ok, err := this.InUse(key)
	if err != nil {
		d.fail("index", "see the message", err)
		return false
	}
	if !ok {
		d.warn("index", "push one, or annotate a photo", "none is in use with this key on this device")
		return false
	}
	at := slices.IndexFunc(list, func(x cparhttp.IndexInfo) bool { return x.ID == used.ID })
	if at < 0 {
		d.fail("index", "push it again", fmt.Errorf("%w: index %v is in use, and not at the cloud", cpar.ErrCloud, used.Origin))
		return false
	}
	if damaged := list[at].Damaged; damaged != "" {
		d.fail("index", "push it again", fmt.Errorf("%w: index %v: %s", cpar.ErrCloud, used.Origin, damaged))
		return false
	}
	switch _, err := client.Manifest(ctx, used.ID); {
	case errors.Is(err, cpar.ErrVersion):
		d.fail("index", "build it again with this version, or update this program", err)
		return false
	case err != nil:
		d.fail("index", "push it again", err)
		return false
	}
	d.ok("index", "%v is in use, in generation %d, and at the cloud", used.Origin, used.Generation)
	return true
}

// checkFormats compares the version of the formats here with the cloud's and the index's: a reader
// refuses all others.
func (d *doctor) checkFormats(ctx context.Context, client *cparhttp.Client, index bool) {
	health, err := client.Health(ctx)
	switch {
	case err != nil:
		d.fail("formats", "is it cpard that runs there?", err)
	case health.Format != cpar.Version:
		older := "this program"
		if health.Format < cpar.Version {
			older = "the cloud's cpard"
		}
		d.fail("formats", "update "+older+", which is the older", fmt.Errorf("%w: version %d here, and %d at the cloud", cpar.ErrVersion, cpar.Version, health.Format))
	case index:
		d.ok("formats", "version %d here, at the cloud, and of the index in use", cpar.Version)
	default:
		d.ok("formats", "version %d here and at the cloud", cpar.Version)
	}
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
