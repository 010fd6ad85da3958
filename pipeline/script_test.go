package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/pipeline/internal/cli"
)

var (
	full = flag.Bool("full", false, "provoke every failure on every side, and run examples whole")
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"pipeline": func() { os.Exit(cli.Main(os.Args[1:], cli.System())) },
		"cheat":    func() { os.Exit(cheatMain()) },
	})
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
			for _, name := range []string{"DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "PIPELINE_DOCKER2"} {
				env.Setenv(name, os.Getenv(name))
			}
			return nil
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
