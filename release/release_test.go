package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

const version = "1.2.3"

// wanted returns the target to build, "all" for all of them.
func wanted(t *testing.T) string {
	t.Helper()
	which := os.Getenv("CPAR_RELEASE")
	if which == "" {
		t.Skip("CPAR_RELEASE names no target: building takes minutes")
	}
	return which
}

func run1(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	return finish(t, &exec.Cmd{Path: look(t, name), Args: append([]string{name}, args...), Dir: dir})
}

func look(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func finish(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// throwaway holds keys that exist for one run of the tests.
var throwaway = struct {
	sync.Once
	folder string
}{}

func keyFolder(t *testing.T) string {
	throwaway.Do(func() {
		dir, err := os.MkdirTemp("", "cpar-release-keys-")
		if err != nil {
			t.Fatal(err)
		}
		throwaway.folder = dir
		run1(t, dir, "minisign", "-G", "-W", "-f", "-p", "minisign.pub", "-s", "minisign.key")
		run1(t, dir, "openssl", "genrsa", "-out", "cpar.rsa", "2048")
		run1(t, dir, "openssl", "rsa", "-in", "cpar.rsa", "-pubout", "-out", "cpar.rsa.pub")
		// The key must be older than the commit, because signatures have the
		// commit's date.
		lastYear := func() time.Time { return time.Now().AddDate(-1, 0, 0) }
		e, err := openpgp.NewEntity("CPAR test", "", "", &packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 3072, DefaultHash: crypto.SHA256, Time: lastYear})
		if err != nil {
			t.Fatal(err)
		}
		writeKey(t, filepath.Join(dir, "rpm.key"), openpgp.PrivateKeyType, func(w io.Writer) error { return e.SerializePrivate(w, nil) })
		writeKey(t, filepath.Join(dir, "rpm.pub"), openpgp.PublicKeyType, e.Serialize)
	})
	return throwaway.folder
}

func writeKey(t *testing.T, path, kind string, write func(io.Writer) error) {
	var b bytes.Buffer
	w, err := armor.Encode(&b, kind, nil)
	if err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// built makes a clone of the checkout and builds it.
func built(t *testing.T, which string, environment ...string) string {
	t.Helper()
	folder := t.TempDir()
	checkout := filepath.Join(folder, "checkout")
	run1(t, "..", "git", "clone", "--quiet", ".", checkout)
	out, keys := filepath.Join(folder, "out"), keyFolder(t)
	args := []string{version, out, "--minisign-key", keys + "/minisign.key", "--rpm-key", keys + "/rpm.key", "--apk-key", keys + "/cpar.rsa"}
	if which != "all" {
		args = append(args, "--only", which)
	}
	cmd := exec.Command(filepath.Join(checkout, "release", "build"), args...)
	cmd.Env = append(os.Environ(), environment...)
	start := time.Now()
	t.Log(finish(t, cmd))
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("took %v and %v of processor time", time.Since(start).Round(time.Second), used.Round(time.Second))
	return out
}

// first is the build that the other tests share.
var first struct {
	sync.Once
	folder string
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(first.folder)
	os.RemoveAll(throwaway.folder)
	os.Exit(code)
}

func firstBuild(t *testing.T) string {
	t.Helper()
	which := wanted(t)
	first.Do(func() {
		folder, err := os.MkdirTemp("", "cpar-release-first-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(built(t, which), filepath.Join(folder, "out")); err != nil {
			t.Fatal(err)
		}
		first.folder = folder
	})
	if first.folder == "" {
		t.Fatal("the build failed in an earlier test")
	}
	return filepath.Join(first.folder, "out")
}

// Two builds in different folders, with different caches of compiled packages
// and of modules, give equal files.
func TestBuildsAreEqual(t *testing.T) {
	one := digests(t, firstBuild(t))
	downloaded := strings.TrimSpace(run1(t, ".", "go", "env", "GOMODCACHE"))
	two := digests(t, built(t, wanted(t),
		"GOCACHE="+t.TempDir(), "GOMODCACHE="+t.TempDir(), "HOME="+t.TempDir(), "TZ=Asia/Tokyo", "LANG=C",
		"GOPROXY=file://"+filepath.Join(downloaded, "cache", "download"), "GOFLAGS=-modcacherw"))
	for name, digest := range one {
		t.Logf("%x  %s", digest[:8], name)
		if two[name] != digest {
			t.Errorf("%s differs", name)
		}
	}
	if len(one) < 13 || len(one) != len(two) {
		t.Errorf("the builds have %d and %d files", len(one), len(two))
	}
}

func digests(t *testing.T, folder string) map[string][sha256.Size]byte {
	t.Helper()
	out := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		out[name] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSignatures(t *testing.T) {
	out, keys := firstBuild(t), keyFolder(t)
	t.Log(run1(t, out, "minisign", "-V", "-p", keys+"/minisign.pub", "-m", "SHA256SUMS"))
	run1(t, out, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")

	database := "--dbpath=" + t.TempDir()
	run1(t, out, "rpm", database, "--import", keys+"/rpm.pub")
	for _, name := range matching(t, out, "*.rpm") {
		said := run1(t, out, "rpm", database, "-K", name)
		t.Log(said)
		if !strings.Contains(said, "digests signatures OK") {
			t.Errorf("rpm -K says %s", said)
		}
	}

	for _, name := range matching(t, out, "*.apk") {
		signature, control := apkParts(t, filepath.Join(out, name))
		dir := t.TempDir()
		for file, b := range map[string][]byte{"signature": signature, "control": control} {
			if err := os.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Log(name, run1(t, dir, "openssl", "dgst", "-sha1", "-verify", keys+"/cpar.rsa.pub", "-signature", "signature", "control"))
	}
}

func matching(t *testing.T, folder, pattern string) (names []string) {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join(folder, pattern))
	if len(all) == 0 {
		t.Fatalf("there is no %s", pattern)
	}
	for _, path := range all {
		names = append(names, filepath.Base(path))
	}
	return names
}

// apkParts returns the signature and the signed part of an apk, which is three
// gzip streams in a row: the signature, the control files and the data.
func apkParts(t *testing.T, path string) (signature, control []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(b)
	stream := func() (raw, plain []byte) {
		from := len(b) - in.Len()
		z, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		z.Multistream(false)
		if plain, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		return b[from : len(b)-in.Len()], plain
	}
	_, first := stream()
	files := tar.NewReader(bytes.NewReader(first))
	h, err := files.Next()
	if err != nil || h.Name != ".SIGN.RSA.cpar.rsa.pub" {
		t.Fatalf("the first file is %v: %v", h, err)
	}
	if signature, err = io.ReadAll(files); err != nil {
		t.Fatal(err)
	}
	control, _ = stream()
	return signature, control
}

// mountProc gives a root the /proc that every container has. The demo uses it
// to start its server.
func mountProc(t *testing.T, root string) {
	t.Helper()
	proc := filepath.Join(root, "proc")
	err := os.MkdirAll(proc, 0o755)
	if err == nil {
		err = syscall.Mount("proc", proc, "proc", 0, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(proc, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// inDebian runs a command in a root without services, as a container does.
func inDebian(t *testing.T, root, command string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-ec", command)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	start, out := time.Now(), finish(t, cmd)
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%s: took %v and %v of processor time", command, time.Since(start).Round(time.Second), used.Round(time.Second))
	return out
}

// In bare Debian, the packages install, and the demo runs. Upgrades and
// removals keep everything that the programs have written.
func TestBareDebian(t *testing.T) {
	out := firstBuild(t)
	if os.Getuid() != 0 {
		t.Skip("debootstrap needs root")
	}
	codename := regexp.MustCompile(`(?m)^VERSION_CODENAME=(.*)$`).FindStringSubmatch(run1(t, ".", "cat", "/etc/os-release"))
	mirror, _, _ := strings.Cut(run1(t, ".", "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"), "\n")
	root := filepath.Join(t.TempDir(), "debian")
	start := time.Now()
	run1(t, ".", "debootstrap", "--variant=minbase", codename[1], root, mirror)
	t.Logf("debootstrap: %v", time.Since(start).Round(time.Second))
	mountProc(t, root)
	place := func(version string) {
		for _, name := range []string{"cpar", "cpard"} {
			debOf(t, filepath.Join(out, name+"_1.2.3_amd64.deb"), version, filepath.Join(root, "root", name+"_"+version+"_amd64.deb"))
		}
	}
	place(version)
	inDebian(t, root, "cd /root && apt install -y ./cpar_*.deb")
	t.Log(inDebian(t, root, "cd /root && cpar demo --keep kept"))
	t.Log(inDebian(t, root, `cd /root && apt install -y ./cpard_*.deb && cpard version && cpar version
		cpar init --no-passphrase
		su -s /bin/sh cpard -c 'cpard tenant add anna --data /var/lib/cpard' >/dev/null
		echo 'max-loaded = 3' >>/etc/cpard/cpard.toml
		stat -c '%U %a' /var/lib/cpard
		test -s /usr/share/man/man1/cpar-annotate.1 && test -s /usr/share/bash-completion/completions/cpar && test -s /usr/lib/systemd/system/cpard.service`))
	// systemd-analyze needs systemd and all programs that the units name.
	inDebian(t, root, "apt install -y systemd procps")
	for _, unit := range []string{"--system /usr/lib/systemd/system/cpard.service", "--user /usr/lib/systemd/user/cpar-vision.service"} {
		if said := inDebian(t, root, "XDG_RUNTIME_DIR=/tmp systemd-analyze verify --man=no "+unit); said != "" {
			t.Errorf("systemd-analyze verify %s: %s", unit, said)
		}
	}

	wrote := written(t, root)
	if len(wrote) < 10 {
		t.Fatalf("the programs wrote only %d files", len(wrote))
	}
	t.Logf("the programs wrote %d files", len(wrote))
	for _, change := range []struct{ what, command string }{
		{"an upgrade", "cd /root && rm *_1.2.3_*.deb && apt install -y ./cpar_*.deb ./cpard_*.deb && grep max-loaded /etc/cpard/cpard.toml"},
		{"a removal", "apt remove -y cpar cpard && ! command -v cpar"},
		{"a purge", "apt purge -y cpard && ! test -e /etc/cpard/cpard.toml"},
	} {
		if change.what == "an upgrade" {
			place("1.2.4")
		}
		inDebian(t, root, change.command)
		after := written(t, root)
		for name, digest := range wrote {
			if after[name] != digest {
				t.Errorf("%s changed %s", change.what, name)
			}
		}
	}
}

// written returns digests of all files except packages in /root and
// /var/lib/cpard.
func written(t *testing.T, root string) map[string][sha256.Size]byte {
	all := map[string][sha256.Size]byte{}
	for _, folder := range []string{"root", "var/lib/cpard"} {
		for name, digest := range digests(t, filepath.Join(root, folder)) {
			if !strings.HasSuffix(name, ".deb") {
				all[folder+"/"+name] = digest
			}
		}
	}
	return all
}

// debOf writes a package again under another version.
func debOf(t *testing.T, from, version, to string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deb")
	run1(t, ".", "dpkg-deb", "-R", from, dir)
	// nfpm writes an empty conffiles file, which dpkg accepts but dpkg-deb
	// refuses.
	if conffiles := filepath.Join(dir, "DEBIAN", "conffiles"); strings.TrimSpace(run1(t, ".", "cat", conffiles)) == "" {
		run1(t, ".", "rm", conffiles)
	}
	control := filepath.Join(dir, "DEBIAN", "control")
	b, err := os.ReadFile(control)
	if err == nil {
		err = os.WriteFile(control, regexp.MustCompile(`(?m)^Version: .*$`).ReplaceAll(b, []byte("Version: "+version)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	run1(t, ".", "dpkg-deb", "-Zgzip", "-z1", "-b", dir, to)
}

// The images unpack with the tools of the specification, and their programs run
// with only the image's own files.
func TestImages(t *testing.T) {
	out := firstBuild(t)
	if os.Getuid() != 0 {
		t.Skip("chroot needs root")
	}
	for _, name := range programs {
		dir := t.TempDir()
		archive := fmt.Sprintf("oci-archive:%s/%s_%s_oci.tar", out, name, version)
		t.Log(run1(t, dir, "skopeo", "inspect", "--format", "{{.Os}}/{{.Architecture}} {{.Labels}}", archive))
		run1(t, dir, "skopeo", "copy", "--quiet", archive, "oci:"+dir+"/layout:"+version)
		run1(t, dir, "umoci", "unpack", "--image", dir+"/layout:"+version, dir+"/bundle")
		mountProc(t, dir+"/bundle/rootfs")
		inImage := func(args ...string) string {
			cmd := &exec.Cmd{
				Path: "/usr/bin/" + name, Args: append([]string{name}, args...), Dir: "/",
				Env:         []string{"HOME=/var/lib/cpar", "CPARD_DATA=/var/lib/cpard", "CPARD_CONFIG=none"},
				SysProcAttr: &syscall.SysProcAttr{Chroot: dir + "/bundle/rootfs", Credential: &syscall.Credential{Uid: user, Gid: user}},
			}
			return finish(t, cmd)
		}
		t.Log(inImage("version"))
		if name == "cpar" {
			inImage("init", "--no-passphrase")
			t.Log(inImage("demo", "--out", "/tmp/demo.html"))
		} else {
			t.Log(inImage("tenant", "add", "anna", "--token-file", "/tmp/token"), inImage("doctor"))
		}
	}
}
