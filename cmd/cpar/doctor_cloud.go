package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/user"
	"cpar/user/access"
	"cpar/user/device"
)

// maxSkew is the accepted difference between the clocks of the cloud and of
// this device. A larger difference affects only times in logs.
const maxSkew = 5 * time.Minute

func (d *doctorFlags) checkCloud(ctx context.Context, this *device.Device, key *user.Key) {
	if d.cloud.url == "" {
		d.findings.Warn("cloud", "pass --cloud URL, or set it in the configuration file (cpar config)", "none was named")
		d.findings.OK("formats", "version %d here", cpar.Version)
		return
	}
	how, err := d.cloud.access()
	if err != nil {
		d.findings.Fail("token", cmp.Or(hint.Of(err), "name another file with --token-file"), err)
		return
	}
	client, err := how.Client()
	if err != nil {
		d.findings.Fail("cloud", cmp.Or(hint.Of(err), "write it like http://127.0.0.1:8080"), err)
		return
	}
	client.Silent = tellSilence(d.cloud.cmd.ErrOrStderr())
	health, err := client.Health(ctx)
	if err != nil {
		d.findings.Fail("cloud", cmp.Or(hint.Of(err), "is cpard running there?"), err)
		return
	}
	if list, ok := d.checkToken(ctx, client, !how.Token.IsZero()); ok {
		indexes := fmt.Sprintf("%d indexes", len(list))
		if len(list) == 1 {
			indexes = "1 index"
		}
		d.findings.OK("cloud", "%s has %s", client.URL(), indexes)
		d.checkFormats(health, d.checkIndex(ctx, this, key, client, list))
	} else {
		d.checkFormats(health, false)
	}
	if skew, ok := clockSkew(ctx, how); ok && skew.Abs() > maxSkew {
		d.findings.Warn("clock", "set the clock of this machine or of the cloud", "the cloud's differs by %v", skew.Round(time.Second))
	} else if ok {
		d.findings.OK("clock", "as the cloud's")
	} else {
		d.findings.Warn("clock", "", "the cloud does not say what time it is")
	}
}

// checkToken reads the token's permissions. It also lists the indexes if the
// token permits that.
func (d *doctorFlags) checkToken(ctx context.Context, client *cparhttp.Client, have bool) (list []cparhttp.IndexInfo, ok bool) {
	if d.cloud.tokenFile != "" {
		d.checkPrivate("token", d.cloud.tokenFile, "600")
	}
	info, err := client.Token(ctx)
	switch {
	case errors.Is(err, cparhttp.ErrToken) && !have:
		d.findings.Fail("token", hint.Of(err), err)
		return nil, false
	case errors.Is(err, cparhttp.ErrToken):
		d.findings.Fail("token", "ask the cloud's operator for another; this one may have expired", err)
		return nil, false
	case errors.Is(err, cparhttp.ErrNotFound): // an older cloud does not know the request
	case err != nil:
		d.findings.Fail("cloud", cmp.Or(hint.Of(err), "is cpard running there?"), err)
		return nil, false
	case info.Needed:
		d.findings.OK("token", "it may %s", strings.Join(info.Scopes, ", "))
		d.checkUsage(ctx, client, info.Scopes)
	case have:
		d.findings.OK("token", "the cloud needs none, and was shown one")
	default:
		d.findings.OK("token", "the cloud needs none")
	}
	list, err = client.List(ctx)
	switch {
	case errors.Is(err, cparhttp.ErrToken):
		d.findings.Warn("cloud", "use a token that may also annotate", "%s answers, but this token may not list its indexes", client.URL())
		return nil, false
	case err != nil:
		d.findings.Fail("cloud", "is cpard running there?", err)
		return nil, false
	}
	return list, true
}

func (d *doctorFlags) checkUsage(ctx context.Context, client *cparhttp.Client, scopes []string) {
	if !slices.Contains(scopes, "admin") {
		return
	}
	u, err := client.Usage(ctx)
	taken := u.Bytes + u.Pending
	switch {
	case err != nil:
		d.findings.Fail("storage", cmp.Or(hint.Of(err), "contact the cloud's operator"), err)
	case u.StorageBytes == 0:
		d.findings.OK("storage", "%d MB are used, without a limit", taken/1e6)
	case taken > u.StorageBytes/10*9:
		d.findings.Warn("storage", "delete an index that is no longer needed, or ask the cloud's operator for more", "%d MB of %d are used; a push needs room for the old and the new index", taken/1e6, u.StorageBytes/1e6)
	default:
		d.findings.OK("storage", "%d MB of %d are used", taken/1e6, u.StorageBytes/1e6)
	}
}

// checkIndex looks for the current index at the cloud. Result `read` reports
// whether the manifest has this program's format.
func (d *doctorFlags) checkIndex(ctx context.Context, this *device.Device, key *user.Key, client *cparhttp.Client, list []cparhttp.IndexInfo) (read bool) {
	if key == nil {
		return false
	}
	used, ok, err := this.InUse(key)
	if err != nil {
		d.findings.Fail("index", "see the message", err)
		return false
	}
	if !ok {
		d.findings.Warn("index", "push one, or annotate a photo", "none is in use with this key on this device")
		return false
	}
	at := slices.IndexFunc(list, func(x cparhttp.IndexInfo) bool { return x.ID == used.ID })
	if at < 0 {
		d.findings.Fail("index", "push it again", fmt.Errorf("%w: index %v is in use, but not at the cloud", cpar.ErrCloud, used.Origin))
		return false
	}
	if damaged := list[at].Damaged; damaged != "" {
		d.findings.Fail("index", "push it again", fmt.Errorf("%w: index %v: %s", cpar.ErrCloud, used.Origin, damaged))
		return false
	}
	switch _, err := client.Manifest(ctx, used.ID); {
	case errors.Is(err, cpar.ErrVersion):
		d.findings.Fail("index", "build it again with this version, or update this program", err)
		return false
	case err != nil:
		d.findings.Fail("index", "push it again", err)
		return false
	}
	d.findings.OK("index", "%v is in use, in generation %d, and at the cloud", used.Origin, used.Generation)
	return true
}

// checkFormats compares the format versions of this program, the cloud and the
// index. Readers refuse all other versions.
func (d *doctorFlags) checkFormats(health cparhttp.Health, index bool) {
	switch {
	case health.Format != cpar.Version:
		older := "this program"
		if health.Format < cpar.Version {
			older = "the cloud's cpard"
		}
		d.findings.Fail("formats", "update "+older+", which is the older", fmt.Errorf("%w: version %d here, and %d at the cloud", cpar.ErrVersion, cpar.Version, health.Format))
	case index:
		d.findings.OK("formats", "version %d here, at the cloud, and of the index in use", cpar.Version)
	default:
		d.findings.OK("formats", "version %d here and at the cloud", cpar.Version)
	}
}

// clockSkew returns the time by which the cloud's clock is ahead, according to
// the Date header of a response.
func clockSkew(ctx context.Context, how access.Access) (time.Duration, bool) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodHead, how.Cloud, nil)
	if err != nil {
		return 0, false
	}
	client, err := how.HTTP()
	if err != nil {
		return 0, false
	}
	client.Timeout = time.Minute
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(ask)
	if err != nil {
		return 0, false
	}
	answer.Body.Close()
	there, err := http.ParseTime(answer.Header.Get("Date"))
	return time.Until(there), err == nil
}
