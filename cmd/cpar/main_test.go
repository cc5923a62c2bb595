package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cpar/cloud/daemon"
	"cpar/cloud/listen"
	"cpar/encoder/known"
	"cpar/encoder/onnxruntime"
	"cpar/internal/exitcode"
	"cpar/internal/testing/immichtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"cpar": func() {
			if folder := os.Getenv("STORY_KEYRING"); folder != "" {
				ring = storyKeyring(folder)
			}
			if file := os.Getenv("STORY_SETS"); file != "" {
				knownSets = func() []known.Set { return storySets(file) }
			}
			os.Exit(run())
		},
		"cpard": func() { os.Exit(runCloud()) },
	})
}

func runCloud() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	data := flag.String("data", "", "")
	var network listen.Options
	flag.StringVar(&network.Cert, "cert", "", "")
	flag.StringVar(&network.Key, "key", "", "")
	flag.StringVar(&network.ClientCA, "clientca", "", "")
	flag.Parse()
	return exitcode.Report(os.Stderr, "cpard", daemon.Run(ctx, daemon.Options{
		Data: *data, Listen: "127.0.0.1:0", Network: network,
		Log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready: func(url string) { fmt.Println("listening on", url) },
	}))
}

// TestStories runs the stories in testdata, which are scripts with additional
// commands:
//
//	exits N COMMAND…            run a command that must exit with code N
//	serve DATA LOG [FLAGS]      start a cloud and set $CLOUD to its address
//	token DATA TENANT SCOPES FILE  write a token of a cloud's tenant to a file
//	certs FOLDER                make self-signed server.pem and client.pem with .key files
//	servelimited BLOCKS DATA LOG  serve under ulimit -f
//	shutdown                    end the cloud (stop ends a story)
//	scenes FOLDER N [FIRST]     paint a collection of N scenes, from number FIRST
//	model FILE SEED             make a tiny image network from a seed
//	network FILE IN… to OUT…    make a network with these inputs and outputs
//	sets FILE NAME PART=FILE…   write the table of one set of networks for $STORY_SETS, with addresses at $FILES
//	files FOLDER [BYTES]        serve a folder's files at $FILES, the first answer breaking after BYTES
//	sumof NAME FILE             set $NAME to the SHA-256 of a file
//	pair FOLDER                 make both halves of a CLIP-like network, and their tokenizer
//	flip FILE [OFFSET]          change one bit, at the end or at an offset from it
//	cut FILE N                  drop the last N bytes
//	version FILE N              write another version into a header
//	claim FILE W H              write a PNG header that claims a size
//	answers MODE [DATA]         start a faulty server at $BROKEN:
//	                            stale: shows the indexes of DATA until the first request,
//	                            tired: answers one request and then garbage,
//	                            silent: never answers
//	idof NAME FILE              set $NAME to the ID in a command's JSON output
//	was FILE                    set $WAS to the index replaced by a compaction
//	otherkey FROM TO            copy an unencrypted key file, with a comment at its head
//	byname                      replace 127.0.0.1 with localhost in $CLOUD
//	wordof NAME FILE            set variable NAME to the contents of a file
//	copytree FROM TO            copy a folder to a new one
//	limited BLOCKS COMMAND…     run a command under a file size limit, which must make it exit with code 8
//	fulldisk COMMAND…           run a command with output to a full disk, which must make it exit with code 8
//	json FILE PATH…             print a value of a JSON file, whose lines form an array
//	plant FOLDER PHOTO          make files with terminal escapes and a newline in their names: $GOOD, $JUNK
//	terminal CODE ANSWERS COMMAND…  run a command on a terminal and answer its prompts with the
//	                            lines of a file, where ^C interrupts
//	page ARGS…                  start cpar ui, check that its API requires a token, and end it with ^C
//	taken                       set $TAKEN to a port in use
//	await PATTERN [REGEXP]      wait until a file exists, and contains a match
//	film FILE SCENE…            make a video of painted scenes, one a second, with ffmpeg
//	withoutffmpeg ARGS…         run cpar where no ffmpeg is on the path
//	interrupt SIGNAL ARGS…      start cpar demo and end it half way
//	manifests DATA FOLDER       copy the manifests of a cloud's indexes
//	emptydir FOLDER             fail if the folder is not empty
//	visionserve LOG ARGS…       start cpar vision-serve and set $VISION to its address
//	visionstop                  end it
//	asphotoprism FILE KEYFILE [IMAGE]  request a photo's labels as PhotoPrism does
//	immichserve FOLDER          start an Immich test double with a folder's photos
//	immichphotos                print its photos with their tags, and all tags
//	immichtag NAME TAG…         set the tags of one of its photos
//	older                       write the key, indexes and journals of an earlier version
//	sameanswers THEN NOW        compare the keywords of two runs of annotate --json
//	leaks CANARIES PATH…        fail unless a file, name or folder contains a canary (! inverts)
func TestStories(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			for _, v := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LocalAppData", "AppData"} {
				e.Setenv(v, filepath.Join(e.WorkDir, "home"))
			}
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "temp"))
			e.Setenv("CPAR_MODEL", "none") // bundled.txt tests the default
			// The sidecar of this name can be planned and not written, because the name
			// of its temporary file is too long.
			e.Setenv("LONG", strings.Repeat("n", 240)+".jpg")
			e.Setenv("NEVER", time.Now().Add(8*time.Hour).Format("15:04-")+time.Now().Add(9*time.Hour).Format("15:04"))
			e.Setenv("ORT", os.Getenv(onnxruntime.Variable))
			e.Values["cloud"], e.Values["vision"], e.Values["immich"] = new(process), new(process), new(*immichtest.Server)
			return os.MkdirAll(filepath.Join(e.WorkDir, "temp"), 0o700)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "ort" {
				return os.Getenv(onnxruntime.Variable) != "", nil
			}
			return false, fmt.Errorf("no condition %s", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "serve": serve, "token": giveToken, "certs": certs, "shutdown": shutdown, "scenes": scenes, "flip": flip, "cut": cut,
			"claim": claim, "version": setVersion, "servelimited": serveLimited, "answers": answers, "limited": limited, "fulldisk": fullDisk, "terminal": terminal, "json": jsonPath, "leaks": leaks,
			"manifests": manifests, "copytree": copyTree, "was": was, "idof": idOf, "runin": runIn, "model": writeModel, "network": writeNetwork, "sets": writeSets, "pair": writePair, "interrupt": interrupt, "await": await, "film": film, "withoutffmpeg": withoutFFmpeg, "emptydir": emptyDir,
			"otherkey": otherKey, "byname": byName, "wordof": wordOf, "plant": plant, "page": page, "taken": taken,
			"visionserve": visionServe, "visionstop": visionStop, "asphotoprism": asPhotoPrism,
			"files": serveFiles, "sumof": sumOf,
			"older": older, "sameanswers": sameAnswers,
			"immichserve": immichServe, "immichphotos": immichPhotos, "immichtag": immichTag,
		},
	})
}

func command(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			cmd := exec.Command(path, args...)
			cmd.Dir = ts.MkAbs(".")
			for _, v := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR", "PATH", "CPAR_KEY", "CPAR_CLOUD", "CPAR_CLOUD_CA", "CPAR_TOKEN", "CPAR_TOKEN_FILE", "CPAR_MODEL", "CPAR_TEXT_MODEL", "CPAR_CONFIG", "CPAR_RUNTIME", "CPAR_ONNXRUNTIME", "CPAR_EMBEDDING", "CPAR_POOL", "CPAR_SIDE", "CPAR_PREPROCESSING", "CPAR_INDEX", "CPAR_CACHE", "CPAR_VISION_TOKEN", "CPAR_IMMICH", "CPAR_IMMICH_API_KEY", "STORY_KEYRING", "STORY_SETS", "SYSTEMROOT", "LocalAppData", "AppData"} {
				if x := ts.Getenv(v); x != "" {
					cmd.Env = append(cmd.Env, v+"="+x)
				}
			}
			return cmd
		}
	}
	ts.Fatalf("%s is not on the path", name)
	return nil
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND")
	}
	cmd := command(ts, args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	if code := exitOf(ts, cmd.Run()); fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func exitOf(ts *testscript.TestScript, err error) int {
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		return e.ExitCode()
	}
	ts.Check(err)
	return 0
}

func jsonPath(ts *testscript.TestScript, _ bool, args []string) {
	v := jsonOf(ts, args[0])
	for _, step := range args[1:] {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[step]
			if !ok {
				ts.Fatalf("there is no %q, but %v", step, keys(x))
			}
			v = next
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); step == "length" {
				v = len(x)
			} else if err != nil || i >= len(x) {
				ts.Fatalf("no element %s of %d", step, len(x))
			} else {
				v = x[i]
			}
		default:
			ts.Fatalf("nothing at %q in %v", step, v)
		}
	}
	b, err := json.Marshal(v)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), strings.Trim(string(b), `"`))
}

func jsonOf(ts *testscript.TestScript, file string) any {
	var all []any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	for {
		var v any
		if err := dec.Decode(&v); err == io.EOF {
			break
		} else if err != nil {
			ts.Fatalf("%s: %v", file, err)
		}
		all = append(all, v)
	}
	if len(all) == 1 {
		if m, ok := all[0].(map[string]any); !ok || m["photo"] == nil {
			return all[0]
		}
	}
	return all
}

func keys(m map[string]any) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
