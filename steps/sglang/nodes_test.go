package sglang_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/zclconf/go-cty/cty"
)

func TestRenderNodes(t *testing.T) {
	spec := steps.ServerSpec{Addr: "a", Version: "0.5.23", Model: "m", Nodes: 2, GPUs: 16,
		Args: []steps.Arg{{Name: "tp_size", Value: int64(16)}}}
	var got []string
	for rank := range 2 {
		p, err := sglang.New().Capabilities().Spreader.RenderNode(spec, steps.NodePlace{
			Rank: rank, Host: fmt.Sprintf("fd00::%d", rank+1), Head: "fd00::1", Rendezvous: steps.PortNumber(5000), Listen: "0.0.0.0",
			Port: steps.PortNumber(30000 + 300*rank),
		})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.Env[1].Name+"="+p.Env[1].Value+" "+strings.Join(p.Argv, " "))
	}
	for rank, want := range []string{
		"SGLANG_HOST_IP=fd00::1 python3 -m sglang.launch_server --model-path m --host 0.0.0.0 --port 30000 --nnodes 2 --node-rank 0 " +
			"--dist-init-addr [fd00::1]:5000 --tp-size 16 --enable-metrics",
		"SGLANG_HOST_IP=fd00::2 python3 -m sglang.launch_server --model-path m --host 0.0.0.0 --port 30300 --nnodes 2 --node-rank 1 " +
			"--dist-init-addr [fd00::1]:5000 --tp-size 16 --enable-metrics",
	} {
		if got[rank] != want {
			t.Errorf("node %d:\n got %s\nwant %s", rank, got[rank], want)
		}
	}
	o := steps.Object{Attrs: map[string]cty.Value{"model": cty.StringVal("m"), "version": cty.StringVal("0.5.23"),
		"nodes": cty.NumberIntVal(2), "args": cty.ObjectVal(map[string]cty.Value{"dist_init_addr": cty.StringVal("x:1")})}}
	if found := sglang.Kind().Validate(o); len(found) != 1 || !strings.Contains(found[0].Summary, "nodes sets dist_init_addr") {
		t.Error(found)
	}
}
