package slurmjob

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/vllm"
)

// sideBySide is a file whose repeats run on nodes of their own.
const sideBySide = `
pipeline {
  slurm {
    nodes        = %d
    side_by_side = true
  }
}

server "vllm" "sut" {
  executable = ["vllm"]
  model      = "m"
}

dataset "random" "short" {
  input_len  = 128
  output_len = 32
}

benchmark "b" {
  target  = server.vllm.sut
  dataset = dataset.random.short
  load {
    rate     = 2
    requests = 1000
  }
  repeat {
    min = 4
    max = 12
  }
}
`

// jobOf returns the place of a plan on some nodes, and its options.
func jobOf(t *testing.T, nodes int, change func(*steps.SlurmSpec, *plan.Plan)) (*job, place.Options) {
	t.Helper()
	registry, err := steps.NewRegistry(append(dataset.All().Blocks(), vllm.Kind())...)
	if err != nil {
		t.Fatal(err)
	}
	cfg, diags := lang.Load(lang.Options{
		Paths: []string{"-"}, Stdin: strings.NewReader(fmt.Sprintf(sideBySide, nodes)), Registry: registry, Env: func() []string { return nil },
	})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p, diags := plan.Build(cfg.Config, plan.Options{File: "f.hcl"})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if change != nil {
		change(cfg.Settings.Slurm, p)
	}
	opt := place.Options{Plan: p, Shown: true}
	return newJob(opt), opt
}
