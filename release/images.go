package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the customary ID of a user without privileges.
const user = 65532

// An image describes a container that holds one program and no shell or
// library.
type image struct {
	program string
	env     []string
	data    string // the only folder besides /tmp that the program writes
	ports   map[string]struct{}
	command []string
}

var allImages = []image{
	// The port is unprivileged. OCI images cannot define health checks, so
	// operators query /healthz and /readyz from outside.
	{"cpard", []string{"CPARD_DATA=/var/lib/cpard", "CPARD_LISTEN=:8443", "CPARD_CONFIG=none"}, "/var/lib/cpard", map[string]struct{}{"8443/tcp": {}}, []string{"serve"}},
	// This image has no port, because vision-serve listens on loopback. Its
	// container shares the network of PhotoPrism's container
	// (compose/photoprism.yml).
	{"cpar", []string{"HOME=/var/lib/cpar"}, "/var/lib/cpar", nil, []string{"vision-serve"}},
}

// images writes an archive for each image, with all architectures.
func (r *release) images(stages []stage) error {
	if len(stages) == 0 {
		return nil
	}
	for _, x := range allImages {
		l := layout{r: r, blobs: map[digest.Digest][]byte{}}
		var platforms []oci.Descriptor
		for _, s := range stages {
			d, err := l.platform(x, s)
			if err != nil {
				return fmt.Errorf("image of %s: %w", x.program, err)
			}
			platforms = append(platforms, d)
		}
		index := l.add(oci.MediaTypeImageIndex, oci.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex, Manifests: platforms})
		index.Annotations = map[string]string{oci.AnnotationRefName: r.version}
		if err := r.write(fmt.Sprintf("%s_%s_oci.tar", x.program, r.version), func(w io.Writer) error { return l.write(w, index) }); err != nil {
			return err
		}
	}
	return nil
}

type layout struct {
	r     *release
	blobs map[digest.Digest][]byte
	order []digest.Digest
}

// add stores a blob. It encodes values other than bytes as JSON.
func (l *layout) add(mediaType string, v any) oci.Descriptor {
	b, raw := v.([]byte)
	if !raw {
		var err error
		if b, err = json.Marshal(v); err != nil {
			panic("release: " + err.Error()) // impossible for the types of the specification
		}
	}
	d := digest.FromBytes(b)
	if l.blobs[d] == nil {
		l.blobs[d], l.order = b, append(l.order, d)
	}
	return oci.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(b))}
}

func (l *layout) platform(x image, s stage) (oci.Descriptor, error) {
	files, err := l.r.rootfs(x, s)
	if err != nil {
		return oci.Descriptor{}, err
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(files); err != nil {
		return oci.Descriptor{}, err
	}
	if err := z.Close(); err != nil {
		return oci.Descriptor{}, err
	}
	labels := map[string]string{oci.AnnotationVersion: l.r.version, oci.AnnotationRevision: l.r.revision, oci.AnnotationLicenses: "Apache-2.0", oci.AnnotationTitle: x.program}
	platform := oci.Platform{OS: s.os, Architecture: s.arch}
	config := l.add(oci.MediaTypeImageConfig, oci.Image{
		Created: &l.r.date, Platform: platform,
		Config: oci.ImageConfig{
			User: fmt.Sprintf("%d:%d", user, user), Env: x.env, ExposedPorts: x.ports, Volumes: map[string]struct{}{x.data: {}},
			Entrypoint: []string{"/usr/bin/" + x.program}, Cmd: x.command, WorkingDir: x.data, Labels: labels,
		},
		RootFS:  oci.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(files)}},
		History: []oci.History{{Created: &l.r.date, CreatedBy: "release/build"}},
	})
	d := l.add(oci.MediaTypeImageManifest, oci.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageManifest, Config: config,
		Layers: []oci.Descriptor{l.add(oci.MediaTypeImageLayerGzip, zipped.Bytes())}, Annotations: labels,
	})
	d.Platform = &platform
	return d, nil
}

func (r *release) rootfs(x image, s stage) ([]byte, error) {
	program, err := os.ReadFile(filepath.Join(s.static, x.program))
	if err != nil {
		return nil, err
	}
	// Add Mozilla's root certificates for ACME and object storage.
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a PEM file cannot express the constraint
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, e := range []struct {
		tar.Header
		content []byte
	}{
		{tar.Header{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, roots.Bytes()},
		{tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, nil},
		{tar.Header{Name: "usr/bin/" + x.program, Mode: 0o755}, program},
		{tar.Header{Name: x.data[1:] + "/", Mode: 0o700, Typeflag: tar.TypeDir, Uid: user, Gid: user}, nil},
	} {
		if err := r.put(t, e.Header, e.content); err != nil {
			return nil, err
		}
	}
	err = t.Close()
	return out.Bytes(), err
}

func (l *layout) write(w io.Writer, index oci.Descriptor) error {
	t := tar.NewWriter(w)
	top, err := json.Marshal(oci.Index{Versioned: specs.Versioned{SchemaVersion: 2}, Manifests: []oci.Descriptor{index}})
	if err != nil {
		return err
	}
	version, err := json.Marshal(oci.ImageLayout{Version: oci.ImageLayoutVersion})
	if err != nil {
		return err
	}
	if err := l.r.put(t, tar.Header{Name: oci.ImageLayoutFile, Mode: 0o644}, version); err != nil {
		return err
	}
	if err := l.r.put(t, tar.Header{Name: oci.ImageIndexFile, Mode: 0o644}, top); err != nil {
		return err
	}
	for _, d := range l.order {
		if err := l.r.put(t, tar.Header{Name: oci.ImageBlobsDir + "/sha256/" + d.Encoded(), Mode: 0o644}, l.blobs[d]); err != nil {
			return err
		}
	}
	return t.Close()
}
