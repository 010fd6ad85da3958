package main_test

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/cli"
)

var (
	full = flag.Bool("full", false, "provoke every failure on every side, and run examples whole")
)

// TestMain runs the tests with this binary as the commands that they start. PIPELINE_PROGRAM names a build of the program
// to start instead. Users run that program, and it starts in half the time because it contains no tests.
func TestMain(m *testing.M) {
	testscript.Main(withProgram{m}, map[string]func(){
		"pipeline": func() { os.Exit(cli.Main(os.Args[1:], cli.System())) },
		"cheat":    func() { os.Exit(cheatMain()) },
	})
}

type withProgram struct{ *testing.M }

// Run puts the program into the place that testscript.Main has found for it, and runs the tests.
func (m withProgram) Run() int {
	if program := os.Getenv("PIPELINE_PROGRAM"); program != "" {
		at, err := exec.LookPath("pipeline")
		if err == nil {
			err = os.Remove(at)
		}
		if err == nil && os.Link(program, at) != nil { // on another disk
			_, err = os.Stat(program)
			err = errors.Join(err, os.Symlink(program, at))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "PIPELINE_PROGRAM:", err)
			return 2
		}
	}
	return m.M.Run()
}

// TestScripts runs the commands as a user does: files in, output and exit status out.
// Every server in them is a simulated one.
func TestScripts(t *testing.T) {
	t.Parallel() // its parts beside those of others, as some wait
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: golden.Updating(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("HOME", env.WorkDir)
			for _, name := range []string{"GOGC", "DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "PIPELINE_DOCKER2"} {
				env.Setenv(name, os.Getenv(name))
			}
			return setPorts(env, "PORT1", "PORT2", "PORT3")
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":    status,
			"noprocess": noProcess,
			"interrupt": interrupt,
			"waithttp":  waitHTTP,
			"waitfile":  waitFile,
			"valid":     valid,

			"left":           left,
			"runid":          setRun,
			"simulatorimage": simulatorImage,
		},
	})
}

// setPorts sets variables to ports on which nothing listens, for servers that a script starts itself. Ports of its own
// would meet those of other tests on the machine.
func setPorts(env *testscript.Env, names ...string) error {
	for _, name := range names {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer func() { _ = free.Close() }() // only its port is used, once all are known
		_, port, _ := net.SplitHostPort(free.Addr().String())
		env.Setenv(name, port)
	}
	return nil
}
