package buckettest

import (
	"cpar/internal/testing/oracle"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

type Process struct {
	Endpoint
	t       testing.TB
	port    string
	command func() *exec.Cmd
	running *exec.Cmd
	output  string
}

// Versity starts versitygw, an S3 server, on an empty folder with one bucket.
// CPAR_VERSITYGW names the program, and CPAR_VERSITYGW_TEST=required requires
// it.
func Versity(t testing.TB) *Process {
	t.Helper()
	program := oracle.Named(t, "CPAR_VERSITYGW")
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "photos"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, port: fmt.Sprintf("127.0.0.1:%d", oracle.Port(t)), output: filepath.Join(t.TempDir(), "versitygw.log")}
	p.Endpoint = Endpoint{"s3://photos/some/where?endpoint=http://" + p.port,
		credentials(map[string]string{"AWS_ACCESS_KEY_ID": "example", "AWS_SECRET_ACCESS_KEY": "exampleexample"})}
	p.command = func() *exec.Cmd {
		c := exec.Command(program, "--port", p.port, "--quiet", "posix", "--sidecar", filepath.Join(filepath.Dir(p.output), "sidecar"), folder)
		c.Env = append(os.Environ(), "ROOT_ACCESS_KEY=example", "ROOT_SECRET_KEY=exampleexample")
		return c
	}
	os.Mkdir(filepath.Join(filepath.Dir(p.output), "sidecar"), 0o700)
	p.Start()
	return p
}

// Azurite starts Microsoft's Azure emulator, if CPAR_AZURITE names
// azurite-blob.
func Azurite(t testing.TB) *Process {
	t.Helper()
	program := oracle.Named(t, "CPAR_AZURITE")
	folder := t.TempDir()
	p := &Process{t: t, port: fmt.Sprintf("127.0.0.1:%d", oracle.Port(t)), output: filepath.Join(t.TempDir(), "azurite.log")}
	const account, key = "devstoreaccount1", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	p.Endpoint = Endpoint{"azblob://photos/some/where?endpoint=http://" + p.port + "/" + account,
		credentials(map[string]string{"AZURE_STORAGE_ACCOUNT": account, "AZURE_STORAGE_KEY": key})}
	p.command = func() *exec.Cmd {
		_, port, _ := net.SplitHostPort(p.port)
		return exec.Command(program, "--silent", "--skipApiVersionCheck", "--blobHost", "127.0.0.1", "--blobPort", port, "--location", folder)
	}
	p.Start()
	return p
}

func (p *Process) Start() {
	p.t.Helper()
	p.running = p.command()
	p.t.Cleanup(p.Kill)
	oracle.Serve(p.t, p.running, p.port, p.output)
}

// Kill ends the server as a power failure does.
func (p *Process) Kill() {
	if p.running != nil && p.running.Process != nil {
		p.running.Process.Kill()
		p.running.Wait()
		p.running = nil
	}
}
