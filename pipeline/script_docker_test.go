package main_test

import (
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/servegate/pipeline/steps/docker"
)

// condition answers [docker], whether containers of this test binary can run here, and
// [docker2], whether they can at the two hosts that .ci/docker2.sh starts. It is an error if
// they cannot and PIPELINE_TEST_REQUIRE names it.
func condition(name string) (bool, error) {
	var missing error
	switch name {
	case "docker":
		missing = errors.Join(daemonAnswers(), testBinaryIsStatic())
	case "docker2":
		missing = errors.Join(hostsAnswer(), testBinaryIsStatic())
	default:
		return false, fmt.Errorf("unknown condition %q", name)
	}
	if missing != nil && slices.Contains(required(), name) {
		return false, missing
	}
	return missing == nil, nil
}

func daemonAnswers() error {
	_, err := docker.Leftovers(context.Background(), dockerHost(), docker.Filter{})
	return err
}

// twoHosts is the folder of .ci/docker2.sh, "" without one.
func twoHosts() string { return os.Getenv("PIPELINE_DOCKER2") }

// hostsAnswer returns why the two hosts cannot be used, nil if they can.
func hostsAnswer() error {
	if twoHosts() == "" {
		return errors.New("PIPELINE_DOCKER2 does not name the folder of two hosts; start them with .ci/docker2.sh up DIR")
	}
	for n := range 2 {
		if _, err := docker.Leftovers(context.Background(), secondSocket(n), docker.Filter{}); err != nil {
			return err
		}
	}
	_, err := os.Stat(filepath.Join(twoHosts(), "ssh", "bin", "ssh"))
	return err
}

// secondSocket is the socket of one of the two hosts, counted from 0.
func secondSocket(n int) string {
	return fmt.Sprintf("unix://%s/h%d/docker.sock", twoHosts(), n+1)
}

func dockerHost() string { return docker.HostFromEnv(os.Getenv) }

// testBinaryIsStatic returns why the test binary cannot be the program of an empty image, nil
// if it can.
func testBinaryIsStatic() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := elf.Open(self)
	if err != nil {
		return err
	}
	dynamic := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if err := f.Close(); err != nil {
		return err
	}
	if dynamic {
		return errors.New("the test binary is linked dynamically; test with CGO_ENABLED=0")
	}
	return nil
}

// left demands that a run has something at the daemon, or with ! that it has nothing; with
// a number at one of the two hosts, counted from 0:
//
//	! left out
//	! left out 1
func left(ts *testscript.TestScript, neg bool, args []string) {
	host := dockerHost()
	switch len(args) {
	case 1:
	case 2:
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		host = secondSocket(n)
	default:
		ts.Fatalf("usage: [!] left RUNDIR [HOST]")
	}
	found, err := docker.Leftovers(context.Background(), host, docker.Filter{RunID: runOf(ts, args[0])})
	ts.Check(err)
	if neg && len(found) > 0 {
		ts.Fatalf("%s %s is left", found[0].Kind, found[0].Name)
	}
	if !neg && len(found) == 0 {
		ts.Fatalf("nothing of the run is left")
	}
}

// setRun puts the ID of a run into the variable RUN.
func setRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: runid RUNDIR")
	}
	ts.Setenv("RUN", runOf(ts, args[0]))
}

// runOf reads a run's ID from the first line of its journal.
func runOf(ts *testscript.TestScript, dir string) string {
	id, err := runID(ts.MkAbs(dir))
	ts.Check(err)
	return id
}

// runID reads a run's ID from the first line of its journal.
func runID(dir string) (string, error) {
	journal, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(journal), "\n")
	var first struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(line), &first); err != nil || first.RunID == "" {
		return "", fmt.Errorf("%s does not say its run: %q", dir, line)
	}
	return first.RunID, nil
}

// simulatorImage builds the simulator's image of the program and puts its name into
// the variable IMAGE.
func simulatorImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: simulatorimage")
	}
	program, err := exec.LookPath("pipeline")
	ts.Check(err)
	ref, err := docker.SimulatorImage(context.Background(), dockerHost(), program)
	ts.Check(err)
	ts.Setenv("IMAGE", ref)
}
