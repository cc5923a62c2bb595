package main

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"
)

var programs = []string{"cpar", "cpard"}

// A stage is the folder with everything that is published for a target.
type stage struct {
	target
	folder string
	// static is the folder of programs for Linux systems without glibc, such as
	// Alpine and container images. The program cpar in it cannot load ONNX
	// Runtime.
	static string
}

func (s stage) program(name string) string {
	if s.os == "windows" {
		name += ".exe"
	}
	return filepath.Join(s.folder, name)
}

// compile builds the programs of a target. It embeds version, revision and date
// itself, because the version that the go command embeds also depends on the git
// tags in the checkout.
func (r *release) compile(s stage, tags string) error {
	of := r.module + "/internal/version."
	stamps := fmt.Sprintf("-s -w -X %snumber=v%s -X %srevision=%s -X %sdate=%s", of, r.version, of, r.revision, of, r.date.Format("2006-01-02T15:04:05Z"))
	for _, name := range programs {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", stamps, "-o", s.program(name), "./cmd/"+name)
		cmd.Dir, cmd.Stderr = r.root, os.Stderr
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+s.os, "GOARCH="+s.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GOFLAGS=-modcacherw")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building %s: %w", name, err)
		}
	}
	return nil
}

// common creates the folder of files that are the same for all targets:
// licences, files for packagers, manual pages and completions. Programs built
// for this machine write the manual pages and completions.
func (r *release) common() (string, error) {
	folder := filepath.Join(r.work, "common")
	for _, name := range []string{"licences", "release/packaging", "release/compose"} {
		if err := os.CopyFS(filepath.Join(folder, path.Base(name)), os.DirFS(filepath.Join(r.root, name))); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		b, err := os.ReadFile(filepath.Join(r.root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), b, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	host := stage{target: target{runtime.GOOS, runtime.GOARCH}, folder: filepath.Join(r.work, "host")}
	if err := r.compile(host, ""); err != nil {
		return "", err
	}
	for _, name := range programs {
		run := func(args ...string) ([]byte, error) {
			cmd := exec.Command(host.program(name), args...)
			// Pass a fixed environment, because the pages show its values.
			cmd.Env, cmd.Stderr = []string{"HOME=/nonexistent", "PATH=" + os.Getenv("PATH")}, os.Stderr
			return cmd.Output()
		}
		if _, err := run("man", filepath.Join(folder, "man", name)); err != nil {
			return "", fmt.Errorf("manual pages of %s: %w", name, err)
		}
		if err := os.MkdirAll(filepath.Join(folder, "completions"), 0o755); err != nil {
			return "", err
		}
		for _, shell := range []string{"bash", "zsh", "fish"} {
			text, err := run("completion", shell)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, "completions", name+"."+shell), text, 0o644)
			}
			if err != nil {
				return "", fmt.Errorf("completions of %s: %w", name, err)
			}
		}
	}
	return folder, nil
}

func (r *release) stage(t target, common string) (stage, error) {
	s := stage{target: t, folder: filepath.Join(r.work, t.os+"-"+t.arch)}
	if err := os.CopyFS(s.folder, os.DirFS(common)); err != nil {
		return s, err
	}
	if err := r.compile(s, ""); err != nil {
		return s, err
	}
	if t.os == containers {
		s.static = s.folder + "-static"
		if err := r.compile(stage{target: t, folder: s.static}, "static"); err != nil {
			return s, err
		}
	}
	if err := r.normalize(s.folder); err != nil {
		return s, err
	}
	base := fmt.Sprintf("cpar_%s_%s_%s", r.version, t.os, t.arch)
	if err := r.archive(s.folder, base); err != nil {
		return s, err
	}
	for _, name := range programs {
		if err := r.materials(s.program(name), fmt.Sprintf("%s_%s_%s_%s.cdx.json", name, r.version, t.os, t.arch)); err != nil {
			return s, fmt.Errorf("bill of materials of %s: %w", name, err)
		}
	}
	return s, nil
}

// normalize sets the date of every file to the date of the commit. It also sets
// modes that do not depend on the umask of the checkout.
func (r *release) normalize(folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		return os.Chtimes(path, r.date, r.date)
	})
}

// archive packs a folder into a .tar.gz file, in which the folder is named base.
// The tar program of Windows can unpack this format too.
func (r *release) archive(folder, base string) error {
	return r.write(base+".tar.gz", func(w io.Writer) error {
		z := gzip.NewWriter(w)
		t := tar.NewWriter(z)
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(folder, path)
			if err != nil {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return r.put(t, tar.Header{Name: base + "/" + filepath.ToSlash(name), Mode: int64(info.Mode().Perm())}, b)
		})
		if err != nil {
			return err
		}
		if err := t.Close(); err != nil {
			return err
		}
		return z.Close()
	})
}

// put adds an entry with the date of the commit to a tar file.
func (r *release) put(t *tar.Writer, h tar.Header, content []byte) error {
	h.Size, h.ModTime, h.Format = int64(len(content)), r.date, tar.FormatUSTAR
	if err := t.WriteHeader(&h); err != nil {
		return err
	}
	_, err := t.Write(content)
	return err
}

func (r *release) write(name string, content func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	if err := content(f); err != nil {
		f.Close()
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return f.Close()
}

// materials writes the bill of materials of a program. It lists the modules that
// the go command recorded in the program.
func (r *release) materials(program, name string) error {
	g, err := bin.NewGenerator(program, bin.WithIncludeStdlib(true), bin.WithVersionOverride("v"+r.version), bin.WithLogger(zerolog.Nop()))
	if err != nil {
		return err
	}
	bom, err := g.Generate()
	if err != nil {
		return err
	}
	return r.write(name, func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}
