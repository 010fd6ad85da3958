package ab

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Request is a comparison as a command line gives it.
type Request struct {
	// Base and Head are the sides: images, programs with their words, addresses of servers, or with Build git refs.
	// Without Head both sides are Base, and differ in HeadArgs.
	Base, Head string
	// Engine names a row of [Engines]; "" finds it from the sides.
	Engine string
	Model  string
	// GPUs of each server; nil means what the engine needs at least.
	GPUs *int
	// Args are arguments of both servers, HeadArgs of the head alone, each NAME=VALUE, or NAME for a flag that is on.
	Args, HeadArgs []string
	// Rates are requests per second, Concurrency numbers of users. At most one of them is set; without either there are
	// 8 users.
	Rates, Concurrency []string
	// InputLen and OutputLen are the lengths of prompts and answers in tokens.
	InputLen, OutputLen int
	// Requests is the number of requests of one run.
	Requests int
	// Repeats is the largest number of launches of each side.
	Repeats int
	// Margin is the change that counts, Budget the time that the run may take.
	Margin, Budget string
	// Build is a shell command that builds a commit in its checkout. Program is the path of what it makes.
	Build, Program string
	// Slurm is a partition in which the servers run, Kubernetes the image of this program for a cluster.
	Slurm, Kubernetes string
	// Command is the command line, which the file names as its source.
	Command string
}

// Defaults returns a request whose numbers have their defaults.
func Defaults() Request {
	return Request{InputLen: 512, OutputLen: 64, Requests: 200, Repeats: 12, Margin: "5%"}
}

// Machine answers what a request does not say about the machine.
type Machine struct {
	// Program reports whether a word names a program, by its path or in PATH.
	Program func(word string) bool
	// Local reports whether a path names a file or folder.
	Local func(path string) bool
	// Commit returns the commit of a git ref.
	Commit func(ref string) (string, error)
	// Simulated reports that no server is started, so that none reads its model.
	Simulated bool
	// Token reports whether a token of the model hub is set.
	Token bool
	// HubCache is the folder of this machine with what the hub's client downloaded, "" if there is none.
	HubCache string
}

// sourceKind is the argument of a server block that says where a server comes from.
type sourceKind string

const (
	image      sourceKind = "image"
	executable sourceKind = "executable"
	address    sourceKind = "url"
)

// source is where the server of a side comes from.
type source struct {
	kind sourceKind
	// text is the side as it is written: the image, the words of the program, the address, the git ref.
	text string
	// commit is the full commit of a git ref, "" for all else.
	commit string
}

// value returns the source as a value of package hclfile.
func (s source) value() any {
	switch words := strings.Fields(s.text); {
	case s.commit != "":
		return s.commit
	case s.kind == executable && len(words) > 1:
		return words
	default:
		return s.text
	}
}

// noun returns what a source is, as an attribute of for_each.
func (s source) noun() string {
	if s.commit != "" {
		return "commit"
	}
	return string(s.kind)
}

func (s source) differs(other source) bool { return text(s.value()) != text(other.value()) }

// sourceOf finds out what a side is.
func sourceOf(side string, r Request, m Machine) (source, error) {
	words := strings.Fields(side)
	switch {
	case len(words) == 0:
		return source{}, errors.New("a side is empty: name an image, a program, the address of a server or, with --build, a git ref")
	case strings.HasPrefix(side, "http://") || strings.HasPrefix(side, "https://") || hostPort.MatchString(side):
		if !strings.Contains(side, "://") {
			side = "http://" + side
		}
		return source{kind: address, text: strings.TrimSuffix(strings.TrimSuffix(side, "/"), "/v1")}, nil
	case r.Build != "":
		commit, err := m.Commit(side)
		if err != nil {
			return source{}, fmt.Errorf("with --build a side is a git ref: %w", err)
		}
		return source{kind: executable, text: side, commit: commit}, nil
	case m.Program(words[0]):
		return source{kind: executable, text: side}, nil
	case m.Local(words[0]):
		return source{}, fmt.Errorf("%s is a file or folder, and not a program of this machine: name the file that can be executed by its path, "+
			"or quote its interpreter with it, as in \"python3 serve.py\"", words[0])
	case strings.HasPrefix(side, ".") || strings.HasPrefix(side, "/"):
		return source{}, fmt.Errorf("%s is not a program of this machine", words[0])
	case len(words) > 1:
		return source{}, fmt.Errorf("%q has a space in it, and %s is not a program of this machine: "+
			"the tag of an image follows a colon, as in %s", side, words[0], exampleImage)
	case !tagged.MatchString(side):
		if _, err := m.Commit(side); err == nil {
			return source{}, fmt.Errorf("%s is a commit of this repository: add --build, the command that builds it, and --executable, "+
				"the path of what it makes", side)
		}
		return source{}, fmt.Errorf("%s is not a program of this machine, not a commit of this folder's repository, "+
			"and as an image it lacks a tag or digest: write %[1]s:TAG, as in %s", side, exampleImage)
	}
	return source{kind: image, text: side}, nil
}

const exampleImage = "vllm/vllm-openai:v0.11.0"

// hostPort matches the address of a server without its scheme: an image is not called localhost or by an IP address.
var hostPort = lazyregexp.New(`^(localhost|\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:]+\]):\d+(/v1)?/?$`)

// tagged matches an image with a tag, a digest or an ID. The port of a registry is not a tag.
var tagged = lazyregexp.New(`^[^\s:@]+(:[0-9]+/[^\s:@]+)?(:[\w][\w.-]*)(@sha256:[0-9a-f]+)?$|@sha256:[0-9a-f]+$|^sha256:[0-9a-f]+$`)

// sides returns the sources of base and head, which are of one kind.
func (r Request) sides(m Machine) (base, head source, err error) {
	if base, err = sourceOf(r.Base, r, m); err != nil {
		return base, head, err
	}
	if head, err = sourceOf(cmp.Or(r.Head, r.Base), r, m); err != nil {
		return base, head, err
	}
	switch {
	case base.kind != head.kind:
		return base, head, fmt.Errorf("BASE is an %s and HEAD an %s: compare two of one kind", base.kind, head.kind)
	case !base.differs(head) && len(r.HeadArgs) == 0 && r.Head == "":
		return base, head, errors.New("nothing differs: name a second side, or give the head other arguments by --head-arg NAME=VALUE")
	case !base.differs(head) && len(r.HeadArgs) == 0:
		return base, head, fmt.Errorf("both sides are %s: name another, or give the head other arguments by --head-arg NAME=VALUE", r.Base)
	case base.kind == address && len(r.Args)+len(r.HeadArgs) > 0:
		return base, head, errors.New("a server that already runs takes no arguments: leave out --arg and --head-arg")
	}
	return base, head, nil
}

// checkModel returns an error if programs of this machine are to read a file or folder that is not there: every
// launch would fail.
func (r Request) checkModel(m Machine, base source) error {
	path := filepath.IsAbs(r.Model) || strings.HasPrefix(r.Model, ".") ||
		strings.HasSuffix(r.Model, ".gguf") && !strings.Contains(r.Model, "://")
	elsewhere := base.kind != executable || r.Build != "" || r.Slurm != "" || r.Kubernetes != "" || m.Simulated
	if !path || elsewhere || m.Local(r.Model) {
		return nil
	}
	return fmt.Errorf("--model %s is neither a file nor a folder of this machine", r.Model)
}

// check finds what no diagnostic of the language would say as plainly.
func (r Request) check() error {
	switch {
	case r.Model == "":
		return errors.New("name the model by --model: a name on the model hub, a file or folder, " +
			"or the name that a running server lists at /v1/models")
	case len(r.Rates) > 0 && len(r.Concurrency) > 0:
		return errors.New("--rate sends requests at a rate, --concurrency by users who wait for answers: give one of them")
	case r.Build != "" && r.Program == "":
		return errors.New("--build needs --executable, the path of the program that it makes in the checkout")
	case r.Program != "" && r.Build == "":
		return errors.New("--executable is the program that --build makes: name a program of this machine as the side itself")
	case r.Program != "" && !relativePath.MatchString(r.Program):
		return fmt.Errorf("--executable %q must be a path within the checkout, without spaces, such as build/bin/llama-server", r.Program)
	case r.Slurm != "" && r.Kubernetes != "":
		return errors.New("--slurm and --kubernetes exclude each other")
	}
	return cmp.Or(numbers("--rate", r.Rates), numbers("--concurrency", r.Concurrency))
}

// numbers returns an error about a value of a flag that is not a number above 0.
func numbers(flag string, values []string) error {
	for _, v := range values {
		if !positive.MatchString(v) {
			return fmt.Errorf("%s %q is not a number above 0: write 4, or 2,4,8", flag, v)
		}
	}
	return nil
}

var (
	relativePath = lazyregexp.New(`^[\w+-][\w.+-]*(/[\w.+-]+)*$`)
	positive     = lazyregexp.New(`^(0\.0*[1-9][0-9]*|[1-9][0-9]*(\.[0-9]+)?)$`)
)
