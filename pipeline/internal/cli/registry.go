package cli

import (
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/dockerhost"
	"github.com/servegate/pipeline/pipeline/internal/place/kubernetes"
	"github.com/servegate/pipeline/pipeline/internal/place/local"
	"github.com/servegate/pipeline/pipeline/internal/place/slurmjob"
	stackplace "github.com/servegate/pipeline/pipeline/internal/place/stack"
	"github.com/servegate/pipeline/pipeline/internal/place/virtual"
	"github.com/servegate/pipeline/reports/buildkite"
	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/gitlab"
	"github.com/servegate/pipeline/reports/webhook"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/exec"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/llamacpp"
	"github.com/servegate/pipeline/steps/offline"
	"github.com/servegate/pipeline/steps/openai"
	"github.com/servegate/pipeline/steps/request"
	"github.com/servegate/pipeline/steps/router"
	"github.com/servegate/pipeline/steps/sglang"
	"github.com/servegate/pipeline/steps/stack"
	"github.com/servegate/pipeline/steps/transformers"
	"github.com/servegate/pipeline/steps/trtllm"
	"github.com/servegate/pipeline/steps/vllm"
)

// kinds returns the registry of everything that a pipeline file can name.
func (a *app) kinds() (*steps.Registry, error) {
	all := []steps.Kind{exec.Kind(), request.Kind()}
	for _, s := range a.servers {
		all = append(all, s.kind)
	}
	all = append(all, a.datasets.Blocks()...)
	all = append(all, a.connectors.Transfers()...)
	all = append(all, kv.Services()...)
	all = append(all, router.Kinds()...)
	for _, p := range a.publishers {
		all = append(all, p.report)
	}
	registry, err := steps.NewRegistry(all...)
	if err != nil {
		return nil, err
	}
	registry.CheckDeployments(func(d steps.DeploymentSpec) error {
		_, err := a.connectors.NewLayout(d)
		return err
	})
	return registry, nil
}

// server is a kind of server: its block, and the engine that launches it and talks to it.
type server struct {
	kind   steps.Kind
	engine steps.Engine
}

// standardServers returns the kinds of servers of this program.
func standardServers() []server {
	return []server{
		{vllm.Kind(), vllm.New()},
		{sglang.Kind(), sglang.New()},
		{openai.Kind(), openai.New()},
		{transformers.Kind(), transformers.New()},
		{stack.Kind(), stack.New()},
		{offline.Kind(), offline.New()},
		{trtllm.Kind(), trtllm.New()},
		{llamacpp.Kind(), llamacpp.New()},
	}
}

// engines returns the engines by kind of server.
func (a *app) engines() map[string]steps.Engine {
	out := map[string]steps.Engine{}
	for _, s := range a.servers {
		out[s.kind.Name] = s.engine
	}
	return out
}

// allPlaces returns the kinds of places where processes run, in the order of lookup.
func allPlaces() []place.Kind {
	return []place.Kind{virtual.Kind(), stackplace.Kind(), slurmjob.Kind(), kubernetes.Kind(), dockerhost.Kind(), local.Kind()}
}

// allPublishers returns the kinds of services where verdicts are published.
func allPublishers() []publisher {
	return []publisher{
		{report: githubReport(), open: github.New},
		{report: gitlabReport(), open: gitlab.New},
		{report: buildkiteReport(), open: buildkite.New},
		{report: webhookReport(), open: webhook.New, beside: true},
	}
}

// actions returns the actions that execute steps.
func actions() map[string]steps.Action {
	return map[string]steps.Action{"exec": exec.Action{}, "http": request.New()}
}
