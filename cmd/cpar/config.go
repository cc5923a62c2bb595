package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"cpar/cmd/internal/encoderflags"
	"cpar/encoder/bundled"
	"cpar/internal/settings"
)

func configCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "show the effective settings and their origins",
		Long: `config shows the values that commands use for flags that are not given. The order is:
flag, environment, configuration file, default. The file is config.toml in the folder
cpar of your configuration folder, or the file in CPAR_CONFIG. An unknown setting in it is
an error. Paths in it may begin with ~/ and are otherwise relative to its folder.

A cloud's token is not a setting, but the name of its file is. The token can also be in
$CPAR_TOKEN, which takes precedence over $CPAR_TOKEN_FILE. If the environment or the file
also names a cloud, no other cloud receives the token.

` + table.Text(),
		Example: `  $ cat ~/.config/cpar/config.toml
  cloud = "http://127.0.0.1:8080"
  model = "~/models/mobilenetv2-12.onnx"
  $ cpar config
  cloud  http://127.0.0.1:8080  (file)`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := table.Show(cmd, "")
			if err != nil {
				return err
			}
			file, _ := table.File("")
			return table.Print(cmd.OutOrStdout(), file, all, asJSON)
		},
	}
	return jsonFlag(c, &asJSON)
}

// table lists the flags that environment variables and the configuration file
// may set. Help, manual pages and docs/COMMANDS.md are generated from it.
var table = settings.Table{Program: "cpar", Places: configPlaces, Settings: []settings.Setting{
	{Name: "cloud", What: "address of the cloud", None: "none"},
	{Name: "index", What: "index, by its name, id or folder", None: "the one in use"},
	{Name: "key", What: "key file", None: "cpar/key in the configuration folder", Path: true, Except: []string{"inspect"}},
	{Name: "passphrase-file", What: "file with the passphrase of the key file", None: "the keyring, or the terminal", Path: true},
	{Name: "slot", What: "slot of the key file that the passphrase opens", None: "all are tried"},
	{Name: "token-file", What: "file with the token of the cloud", None: "none", Path: true, Except: []string{"vision-serve"}},
	{Name: "cloud-ca", What: "file with the certificates to trust for the cloud, such as a self-signed one", None: "the system's", Path: true},
	{Name: "cloud-cert", What: "file with a certificate to present to the cloud", None: "none", Path: true},
	{Name: "cloud-cert-key", What: "file with the key of that certificate", None: "none", Path: true},
	{Name: "model", What: "image network: an ONNX file, the name of a set, bundled, or none", None: "bundled, the one inside cpar", Path: true, Names: append(setNames(), bundled.Name)},
	{Name: "preprocessing", What: "how images are prepared for the network: a preset or a file", None: "as the model specifies"},
	{Name: "text-model", What: "text half of the image network: an ONNX file, the name of a set, or none", None: "the half of the set in model", Path: true, Names: setNames()},
	{Name: "runtime", What: "runtime of the network: go, onnxruntime or auto", None: "go"},
	{Name: "embedding", What: "the network's tensor by which photos are compared", None: "chosen; -v shows it"},
	{Name: "pool", What: "pooling of a grid of tokens: class or mean", None: "chosen; -v shows it"},
	{Name: "side", What: "height and width of the network's images, if it leaves them open", None: "as its configuration specifies"},
	{Name: "views", What: "number of views of an image that the network embeds: 1 or 2", None: "2"},
	{Name: "limit-file", What: "maximum size of a network file", None: encoderflags.DefaultFileBytes},
	{Name: "limit-memory", What: "maximum memory of a network for its weights, and per photo", None: encoderflags.DefaultMemory},
	{Name: "limit-work", What: "maximum billions of multiply-adds of a network per photo", None: fmt.Sprint(encoderflags.DefaultWorkBillions)},
	{Name: "cache", What: "folder that keeps features unencrypted, or none to keep nothing", None: "encrypted, in the cache folder", Path: true},
	{Name: "right", What: "share of the suggested keywords that should be right", None: "2/3"},
	{Name: "min-probability", What: "minimum probability of a likely keyword", None: "by right"},
	{Name: "write", What: "where annotate writes keywords", None: "nowhere"},
	{Name: "sidecar-style", What: "how sidecars are named", None: "the command's"},
	{Name: "keep-mtime", What: "whether photos keep their modification time when keywords are written", None: "false"},
	{Name: "exclude", What: "photos to leave out", None: "none"},
	{Name: "jobs", What: "number of photos read at once", None: "the command's"},
	{Name: "releases", What: "address of the latest.json that cpar version --check reads", None: "none"},
}}

func configPlaces() []string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil // no file
	}
	return []string{filepath.Join(dir, "cpar", "config.toml")}
}

// applySettings sets a command's flags from the environment and the
// configuration file.
func applySettings(c *cobra.Command) error { return table.Apply(c, "") }
