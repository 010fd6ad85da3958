package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// TestSlurmNodes carries out a file whose axis is the place of a server: both GPUs on one
// node, or one on each of two. The processes of the second meet by the nodes' addresses,
// and the one that fails is named.
func TestSlurmNodes(t *testing.T) {
	r := needSlurm(t)
	for _, tt := range []struct {
		name  string
		more  []string
		code  int
		check func(t *testing.T, doc *result.Document, dir string)
	}{
		{name: "by place", check: func(t *testing.T, doc *result.Document, dir string) {
			t.Helper()
			for _, target := range doc.Targets {
				if strings.Contains(target.Addr, "two") && (target.Describe["node0/slurm.node"] != "n1" || target.Describe["node1/slurm.node"] != "n2") {
					t.Errorf("%s ran elsewhere: %v", target.Addr, target.Describe)
				}
			}
			logs, err := filepath.Glob(filepath.Join(dir, "out", "logs", "*two-node0*"))
			if err != nil || len(logs) == 0 {
				t.Fatalf("no log of the first node: %v", err)
			}
			text, err := os.ReadFile(logs[0])
			if err != nil || !strings.Contains(string(text), "node 1 joined from 10.77.0.12") {
				t.Errorf("the nodes met elsewhere: %v\n%s", err, text)
			}
		}},
		{name: "a node's process fails", more: []string{"--var", `fails=["node_dies=3"]`}, check: func(t *testing.T, doc *result.Document, _ string) {
			t.Helper()
			found := false
			for _, l := range doc.Launches {
				if f := l.Failure; f != nil {
					found = true
					if !strings.HasPrefix(f.Evidence, "node1: ") || !strings.Contains(f.Evidence, "illegal memory access") {
						t.Errorf("%s is blamed", f.Evidence)
					}
				}
			}
			if !found {
				t.Error("nothing failed")
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.empty(t)
			dir := t.TempDir()
			content, err := os.ReadFile(filepath.Join("testdata", "slurm-nodes.pipeline.hcl"))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "f.hcl"), content, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			text, code := marked(t, dir, slurmRun(t, tt.more...)...)
			if _, err := os.Stat(filepath.Join(dir, "out", "results.json")); err != nil || code != tt.code {
				t.Fatalf("exit status %d, want %d: %v\n%s", code, tt.code, err, text)
			}
			tt.check(t, machineOf(t, dir), dir)
			r.empty(t)
		})
	}
}
