package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/user/device"
	"cpar/user/photoprism"
)

type visionFlags struct {
	ask       programFlags
	listen    string
	hosts     []string
	tokenFile string
	cert, key string
	level     string
}

func visionCommand() *cobra.Command {
	var f visionFlags
	c := &cobra.Command{
		Use:   "vision-serve",
		Short: "serve labels to PhotoPrism",
		Long: `vision-serve implements the protocol of PhotoPrism's vision services, so that PhotoPrism
labels its photos with your keywords. PhotoPrism sends it small images. vision-serve sends
the cloud encrypted requests, as cpar annotate does, and answers with the likely
keywords (--right).

It listens only on this machine. Every request needs a key, which is created at the first
start and kept in a file that only you can read, unless you name one (--token-file, or
$CPAR_VISION_TOKEN). Images must be part of the request: addresses are never fetched. The
log contains no photos, keywords or keys.

In PhotoPrism's vision.yml:

  Models:
  - Type: labels
    Name: cpar
    Resolution: 720
    Normalize: "false"
    Service:
      Uri: http://127.0.0.1:8082/api/v1/vision/labels
      Key: ${CPAR_VISION_TOKEN}
      FileScheme: data
      RequestFormat: vision
      ResponseFormat: vision

A PhotoPrism in a container needs an address other than 127.0.0.1 and a certificate that
it trusts: --listen, --tls-cert and --tls-key, and --host if it reaches this machine by a
name. docs/PROGRAMS.md has the steps.`,
		Example: `  $ cpar vision-serve --cloud http://127.0.0.1:8080
  listening on http://127.0.0.1:8082/api/v1/vision/labels`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.ask.cloud.tokenFlag = "cloud-token-file" // --token-file is the token file of this service
	f.ask.add(c)
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8082", "address and port (port 0 picks a free one; other addresses than loopback need --tls-cert and --tls-key)")
	c.Flags().StringSliceVar(&f.hosts, "host", nil, "a `name` by which PhotoPrism calls this machine, besides localhost and addresses")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "`file` with the service's key (default $CPAR_VISION_TOKEN, otherwise one created in the state folder)")
	c.Flags().StringVar(&f.cert, "tls-cert", "", "`file` with a certificate, in PEM form")
	c.Flags().StringVar(&f.key, "tls-key", "", "`file` with the certificate's key")
	c.Flags().StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	return c
}

func (f *visionFlags) run(cmd *cobra.Command) error {
	if err := f.ask.check(cmd); err != nil {
		return err
	}
	var level slog.Level
	if level.UnmarshalText([]byte(f.level)) != nil {
		return exitcode.UsageError(fmt.Errorf("no log level %q; there are debug, info, warn and error", f.level))
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
	cert, err := f.certificate()
	if err != nil {
		return err
	}
	token, err := f.token(cmd)
	if err != nil {
		return err
	}
	l, loopback, err := photoprism.Listen(f.listen, cert)
	if err != nil {
		return err
	}
	defer l.Close()
	_, x, err := f.ask.index(cmd)
	if err != nil {
		return err
	}
	labels := photoprism.NewIndex(x, f.ask.annotateOptions())
	protocol := "http"
	if cert != nil {
		protocol = "https"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "listening on %s://%v/api/v1/vision/labels\n", protocol, l.Addr())
	h := photoprism.Handler(photoprism.Options{Token: token, Hosts: f.hosts, Addresses: !loopback, Label: labels.Label, Log: log})
	return photoprism.Serve(cmd.Context(), l, cert, h, log)
}

// certificate returns the certificate that flags name, or nil.
func (f *visionFlags) certificate() (*tls.Certificate, error) {
	switch {
	case f.cert == "" && f.key == "":
		return nil, nil
	case f.cert == "" || f.key == "":
		return nil, usageOf("--tls-cert and --tls-key belong together")
	}
	c, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("reading the certificate: %w: %w", cpar.ErrInput, err), "both are files in PEM form")
	}
	return &c, nil
}

// token returns the service's access token from a file or an environment
// variable, or creates one on first use. The token is never a command-line
// argument, because every program on the machine can read such arguments.
func (f *visionFlags) token(cmd *cobra.Command) (token string, err error) {
	switch {
	case f.tokenFile != "":
		token, err = photoprism.ReadToken(f.tokenFile)
	case os.Getenv("CPAR_VISION_TOKEN") != "":
		token = os.Getenv("CPAR_VISION_TOKEN")
	default:
		d, e := device.This()
		if e != nil {
			return "", e
		}
		path, made := filepath.Join(d.State, "vision-token"), false
		if token, made, err = photoprism.MadeToken(path); made {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: made a key for PhotoPrism; it is in %s\n", path)
		}
	}
	if err == nil {
		err = photoprism.CheckToken(token)
	}
	return token, err
}
