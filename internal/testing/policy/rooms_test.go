package policy

import "slices"

// A room is a set of packages. Its lists bind these packages and all packages
// of the module that they import, directly or not.
type room struct {
	name string
	in   func(pkg string) bool
	// except is a file that the room's rules do not cover.
	except string
	// may lists the allowed imports. A trailing slash includes all packages
	// below. A room with this list is closed. It also refuses //go:linkname,
	// files that are not Go (except kernelFiles), and system calls that start a
	// program or load code. Other rooms may import everything except the
	// packages in `never`.
	may   []string
	never []ban
}

// A ban refuses a package and all packages below it. A closed room refuses all
// unlisted imports anyway, and its bans add reasons. Its bans also apply to
// imports inside other modules, to which `may` does not apply (checkLinks).
type ban struct{ pkg, why string }

// open lists the packages that handle neither keys nor plaintext. Every room
// may use them.
var open = []string{
	module, module + "/kdforest", module + "/ivf", module + "/cparhttp",
	module + "/internal/mod48", module + "/internal/modq", module + "/internal/lattice", module + "/internal/wire",
	module + "/internal/parallel", module + "/internal/topk",
	module + "/internal/durable", module + "/internal/enum", module + "/internal/hint", module + "/internal/sanitize", module + "/internal/indexdir", module + "/internal/exitcode", module + "/internal/stdout", module + "/internal/version", module + "/internal/progress", module + "/internal/progress/bar", module + "/internal/leakage",
	module + "/internal/settings", module + "/internal/manpage", module + "/internal/doctor", module + "/internal/bearer",
}

// cloudMay lists the external packages that code without a key may use, with
// reasons.
var cloudMay = []string{
	// computation
	"bufio", "bytes", "cmp", "container/heap", "context", "encoding", "encoding/binary", "encoding/hex",
	"encoding/json", "errors", "fmt", "hash", "io", "io/fs", "iter", "maps", "math", "math/big", "math/bits",
	"path", "path/filepath", "regexp", "runtime", "runtime/debug", "slices", "sort", "strconv", "strings",
	"sync", "sync/atomic", "text/tabwriter", "time", "unicode", "unicode/utf8", "unsafe",
	// forests are built from the owner's seed (kdforest.Build)
	"math/rand/v2",
	// digests of segments, and names of temporary files
	"crypto/sha256", "crypto/rand",
	// tokens of tenants: encoding, comparison in constant time, and a limit on
	// wrong tokens
	"encoding/base32", "crypto/subtle", "container/list",
	// a daemon: files, network, logs, signals
	"log", "log/slog", "net", "net/http", "net/netip", "net/url", "os", "os/signal", "syscall", "flag",
	// listed one by one, since golang.org/x/sys/execabs runs programs
	"golang.org/x/sys/unix", "golang.org/x/sys/windows", "golang.org/x/sys/cpu",
	// ring arithmetic, without keys
	"github.com/tuneinsight/lattigo/v6/ring",
	// the size of the live heap, from which Gate.Ceiling sets the memory limit
	"runtime/metrics",
	// limits on tenants' request rates
	"golang.org/x/time/rate",
	"github.com/gofrs/flock", "github.com/edsrzf/mmap-go", "golang.org/x/sync/",
	"github.com/danielgtaylor/huma/v2", "github.com/danielgtaylor/huma/v2/", "github.com/spf13/cobra",
	"github.com/spf13/pflag",
	// object storage: clients that run no other program, and request
	// signatures. The operator's credentials give access to the storage but
	// cannot decrypt its contents
	"crypto/hmac",
	"github.com/aws/aws-sdk-go-v2/aws", "github.com/aws/aws-sdk-go-v2/aws/signer/v4",
	"github.com/aws/aws-sdk-go-v2/credentials", "github.com/aws/aws-sdk-go-v2/service/s3",
	"github.com/aws/smithy-go", "github.com/aws/smithy-go/middleware", "github.com/aws/smithy-go/transport/http",
	"github.com/Azure/azure-sdk-for-go/sdk/azcore", "github.com/Azure/azure-sdk-for-go/sdk/azcore/policy",
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming", "github.com/Azure/azure-sdk-for-go/sdk/azcore/to",
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob", "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob",
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container",
	// clients of the cluster's NATS brokers, and the nodes' nkey (key pair).
	// The broker itself, which runs other programs, is not linked
	"github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream", "github.com/nats-io/nkeys",
	// placement of shards
	"golang.org/x/crypto/blake2b",
	// TLS, and certificates from files and from ACME
	"crypto/tls", "crypto/x509", "encoding/pem", "golang.org/x/crypto/acme", "golang.org/x/crypto/acme/autocert",
	// sockets from systemd, and notifications to it
	"github.com/coreos/go-systemd/v22/activation", "github.com/coreos/go-systemd/v22/daemon",
	// progress of a long command
	"github.com/schollz/progressbar/v3", "golang.org/x/term",
	// manual pages
	"github.com/spf13/cobra/doc",
	// the configuration file, and sizes in it
	"github.com/pelletier/go-toml/v2", "github.com/dustin/go-humanize",
	// metrics, and profiles if the operator enables them
	"github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_golang/prometheus/", "net/http/pprof",
}

var cloudRoom = room{
	name: "the cloud, and all that crosses the wall",
	in: func(pkg string) bool {
		return under(pkg, module+"/cloud") || under(pkg, module+"/cmd/cpard") || slices.Contains(open, pkg)
	},
	may: slices.Concat([]string{module + "/cloud", module + "/cloud/"}, open, cloudMay),
	never: []ban{
		{module + "/user", "package user has seen a key or plaintext"},
		{module + "/photo", "the cloud sees no photo"},
		{module + "/encoder", "the cloud runs no network"},
		{module + "/model", "the cloud sees no feature and no keyword"},
		{"image", "the cloud has no picture to decode"},
		{"golang.org/x/image", "the cloud has no picture to decode"},
		{"filippo.io/age", "the cloud has no key file to open"},
		{"github.com/tuneinsight/lattigo/v6/core/rlwe", "it holds secret keys"},
		{"os/exec", "the cloud runs no other program"},
		{"github.com/nats-io/nats-server", "brokers are programs of their own, and run others"},
		{"plugin", "it links code that cannot be read here"},
		{"github.com/ebitengine/purego", "it loads code that cannot be read here"},
		{"C", "calls from C cannot be checked"},
	},
}

// boxes lists the packages that implement the paper literally or compute
// unencrypted distances.
var boxes = []string{module + "/letter", module + "/eval/distance"}

var evaluation = []string{module + "/eval", module + "/cmd/cpar-eval"}

var generators = []string{
	module + "/internal/kernelgen", module + "/internal/mod48/gen", module + "/internal/modq/gen",
	module + "/internal/f32/gen", module + "/internal/fourier/gen",
}

func below(dirs ...string) func(pkg string) bool {
	return func(pkg string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return under(pkg, dir) })
	}
}

func notBelow(dirs ...string) func(pkg string) bool {
	in := below(dirs...)
	return func(pkg string) bool { return !in(pkg) }
}

func bansOf(pkgs []string, why string) (bans []ban) {
	for _, pkg := range pkgs {
		bans = append(bans, ban{pkg, why})
	}
	return bans
}

// plaintextRooms handle photos, neural networks and learning. They use
// plaintext but no keys.
var plaintextRooms = []string{module + "/photo", module + "/encoder", module + "/model"}

// testPackages are used only by tests. The second is below user/, so that it
// can import internal packages of user/.
var testPackages = []string{module + "/internal/testing", module + "/user/internal/fixtures"}

var rooms = []room{
	cloudRoom,
	{
		name: "the module in place of gRPC",
		in:   below(module + "/internal/grpc"),
		may:  []string{"errors", "fmt"},
	},
	{
		name: "the owner",
		in:   below(module + "/user"),
		never: []ban{
			{module + "/cloud", "the owner talks to a cloud over HTTP only"},
		},
	},
	{
		name: "photos, networks and learning",
		in:   below(plaintextRooms...),
		never: []ban{
			{module + "/user", "code without keys does not depend on code with keys"},
			{module + "/cloud", "plaintext stays out of the cloud's reach"},
			{module + "/eval", "eval measures this code"},
		},
	},
	{
		name: "photos",
		in:   below(module + "/photo"),
		never: []ban{
			{module + "/encoder", "reading a photo needs no network"},
			{module + "/model", "reading a photo needs no learning"},
		},
	},
	{
		name:   "the owner's program",
		in:     below(module + "/cmd/cpar"),
		except: "cmd/cpar/demo_cloud.go",
		never:  []ban{{module + "/cloud", "only cmd/cpar/demo_cloud.go may, since it runs as a separate process"}},
	},
	{
		name:  "all but the evaluation",
		in:    notBelow(evaluation...),
		never: []ban{{module + "/eval", "eval links both sides; nothing else imports it"}},
	},
	{
		name:  "the product",
		in:    notBelow(slices.Concat(boxes, evaluation)...),
		never: bansOf(boxes, "the paper's constructions as printed are for tests and measurements"),
	},
	{
		name:  "all but tests and the evaluation",
		in:    notBelow(slices.Concat(testPackages, evaluation)...),
		never: append(bansOf(testPackages, "only tests and eval link it"), ban{"github.com/chromedp", "only tests drive a browser"}),
	},
	{
		name: "networks in plain Go",
		in:   below(module+"/encoder/onnx", module+"/encoder/engine"),
		never: []ban{
			{module + "/encoder/onnxruntime", "plain Go runs where nothing is installed"},
			{"github.com/ebitengine/purego", "plain Go runs where nothing is installed"},
		},
	},
	{
		name:  "all but the generators of kernels",
		in:    notBelow(generators...),
		never: []ban{{"github.com/mmcloughlin/avo", "it writes kernels before the build; no product needs it"}},
	},
}
