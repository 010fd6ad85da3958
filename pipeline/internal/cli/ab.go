package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/ab"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/pipeline/internal/hub"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// abFile is the name of a file that --write does not name.
const abFile = "ab.pipeline.hcl"

// maxABNumber bounds numbers for which the language has narrower limits.
const maxABNumber = 1_000_000

// leastABRequests, leastABRepeats and leastABOutput are the numbers from which the gate that the command writes can decide: a
// median needs 20 requests, a test two repeats, and a time between tokens two tokens.
const leastABRequests, leastABRepeats, leastABOutput = 20, 2, 2

type abFlags struct {
	request ab.Request
	gpus    int
	write   string
	only    bool // --dry-run
	run     runFlags
}

func (a *app) abCommand() *cobra.Command {
	f := abFlags{request: ab.Defaults(), gpus: 1, run: runFlags{plan: planFlags{timeScale: 1}}}
	cmd := &cobra.Command{
		Use:   "ab BASE [HEAD]",
		Short: "Compare two servers without a file",
		Long: "Measures whether HEAD is slower than BASE. A side is an image (vllm/vllm-openai:v0.11.0), a program with its words, the\n" +
			"address of a server that runs, or with --build a git ref. Without HEAD both sides are BASE, and --head-arg says how they differ.\n\n" +
			"It writes a pipeline file, says what that launches and costs, and runs it as `pipeline run` does, with the same exit status. The\n" +
			"run directory keeps the file; --write leaves it in this folder. HF_TOKEN of the environment is passed to servers that download\n" +
			"models.",
		Example: "  pipeline ab vllm/vllm-openai:v0.10.2 vllm/vllm-openai:v0.11.0 --model Qwen/Qwen2.5-7B-Instruct --rate 2,4\n" +
			"  pipeline ab ./llama-server-old ./llama-server-new --model model.gguf --concurrency 4\n" +
			"  pipeline ab vllm/vllm-openai:v0.11.0 --model Qwen/Qwen2.5-7B-Instruct --head-arg max_num_batched_tokens=2048\n" +
			"  pipeline ab http://10.0.0.5:8000 http://10.0.0.6:8000 --model Qwen/Qwen2.5-7B-Instruct\n" +
			"  pipeline ab HEAD~1 HEAD --build 'make server' --executable bin/llama-server --model model.gguf",
		Args: cobra.RangeArgs(1, 2),
	}
	fl := cmd.Flags()
	described := pflag.NewFlagSet("", pflag.ContinueOnError) // what the file is made of
	described.SortFlags = false
	r := &f.request
	described.StringVarP(&r.Model, "model", "m", "", "`model` on the hub, or a file or folder of this machine")
	described.StringVar(&r.Engine, "engine", "", "`engine` of both sides, where their names do not say it: "+strings.Join(ab.Engines(), ", "))
	described.StringSliceVar(&r.Rates, "rate", nil, "`requests` per second, several with commas between")
	described.StringSliceVar(&r.Concurrency, "concurrency", nil,
		"`users` who wait for their answers, several with commas between (8 unless set)")
	described.Var(bounded{&r.InputLen, 1, maxABNumber}, "input-len", "length of prompts in `tokens`")
	described.Var(bounded{&r.OutputLen, leastABOutput, maxABNumber}, "output-len", "length of answers in `tokens`")
	described.Var(bounded{&r.Requests, leastABRequests, maxABNumber}, "requests", "`number` of requests of one run")
	described.Var(bounded{&r.Repeats, leastABRepeats, config.MaxRepeats}, "repeats",
		"largest `number` of launches of each side; a clear result ends the run earlier")
	described.Var(bounded{&f.gpus, 0, maxABNumber}, "gpus", "`number` of GPUs of each server (0 for llama.cpp and openai unless set)")
	described.StringArrayVar(&r.Args, "arg", nil, "argument of both servers, `name=value` (repeatable)")
	described.StringArrayVar(&r.HeadArgs, "head-arg", nil, "argument of the head alone, `name=value` (repeatable)")
	described.StringVar(&r.Margin, "margin", r.Margin, "`change` that counts")
	described.StringVar(&r.Budget, "budget", "", "`time` that the run may take, such as 2h")
	described.StringVar(&r.Build, "build", "", "shell `command` that builds a git ref in its checkout; needs --executable")
	described.StringVar(&r.Program, "executable", "", "`path` in the checkout of the program that --build makes")
	described.StringVar(&r.Slurm, "slurm", "", "run in a Slurm job of this `partition` (images by pyxis)")
	described.StringVar(&r.Kubernetes, "kubernetes", "", "run as Pods of the current context, whose `image` of this program serves its own")
	fl.AddFlagSet(described)
	fl.StringVarP(&f.write, "write", "w", "", "write the pipeline file to `NAME` in this folder, which must be new")
	fl.BoolVar(&f.only, "dry-run", false, "print the pipeline file and its plan, and run nothing")
	simulateFlag(cmd, &f.run.plan.simulate)
	outFlag(fl, &f.run.out, "run directory (a new one below .pipeline/runs unless set)")
	fl.BoolVar(&f.run.resume, "resume", false, "go on with the interrupted run of the same command in --out (the latest unless set)")
	failOnFlag(cmd, &f.run.failOn)
	progressFlag(cmd, &f.run.progress)
	cmd.RunE = interruptible(func(ctx context.Context, args []string) error {
		r.Base = args[0]
		if len(args) > 1 {
			r.Head = args[1]
		}
		if fl.Changed("gpus") {
			r.GPUs = &f.gpus
		}
		r.Command = commandLine(args, described)
		return a.ab(ctx, f)
	})
	return cmd
}

// commandLine returns the shell command with these arguments and those flags of a set that were given.
func commandLine(args []string, flags *pflag.FlagSet) string {
	words := []string{"pipeline", "ab"}
	for _, arg := range args {
		words = append(words, plan.Quote(arg))
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			if values = list.GetSlice(); f.Value.Type() == "stringSlice" {
				values = []string{strings.Join(values, ",")}
			}
		}
		for _, v := range values {
			words = append(words, "--"+f.Name, plan.Quote(v))
		}
	})
	return strings.Join(words, " ")
}

// ab writes the pipeline file of a comparison, shows its plan and runs it.
func (a *app) ab(ctx context.Context, f abFlags) error {
	name := abFile
	if f.write != "" {
		if name = f.write; filepath.Base(name) != name || filepath.Ext(name) != ".hcl" {
			return exit(exitUsage, fmt.Errorf("--write %s: name a file of this folder that ends in .hcl, since its relative paths start here", name))
		}
		if _, err := os.Lstat(name); err == nil && !f.run.resume {
			return exit(exitUsage, fmt.Errorf("--write %s: the file exists; name another, or run it by pipeline run %[1]s", name))
		}
	}
	machine := a.machine(ctx)
	machine.Simulated = f.run.plan.simulate != ""
	text, err := ab.Write(f.request, machine)
	if err != nil {
		return exit(exitUsage, err)
	}
	a.passToken()
	a.origin = f.request.Origin
	run := f.run
	run.config.text = &lang.Text{Name: name, Bytes: text}
	run.post.command, run.answer = f.request.Command, true
	if f.only {
		cfg, err := a.load(run.config, []string{name})
		if err != nil {
			return err
		}
		p, err := a.plan(cfg, run.plan, []string{name})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Out, "%s\n", text); err != nil {
			return err
		}
		return a.planned(cfg, p, f, text, p.WriteText)
	}
	run.planned = func(cfg *lang.Config, p *plan.Plan) error { return a.planned(cfg, p, f, text, p.WriteBrief) }
	return a.run(ctx, run, []string{name})
}

// planned prints a form of the plan of a comparison, and writes its file where it is asked for.
func (a *app) planned(cfg *lang.Config, p *plan.Plan, f abFlags, text []byte, form func(io.Writer) error) error {
	if f.run.resume {
		return nil
	}
	if f.write != "" {
		if err := writeNew(f.write, text); err != nil {
			return exit(exitInfrastructure, err)
		}
	}
	err := a.report(cfg, target.CheckGated(p, a.hubCache()))
	if err == nil {
		err = a.printPlan(form)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.Out)
	return err
}

// machine returns what is asked of this machine to understand a request.
func (a *app) machine(ctx context.Context) ab.Machine {
	return ab.Machine{
		Program: func(word string) bool {
			_, err := exec.LookPath(word)
			return err == nil
		},
		Local: exists,
		Commit: func(ref string) (string, error) {
			sp := spawn.New(spawn.Options{Environ: a.Environ()})
			defer sp.Close()
			return git.Repo{Spawner: sp, Dir: "."}.Line(ctx, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
		},
		Token: a.token() != "", HubCache: a.hubCache(),
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// hubFolder returns the folder in which the hub's client of this machine keeps what it downloads.
func (a *app) hubFolder() string {
	return cmp.Or(a.Getenv("HF_HOME"), filepath.Join(a.Getenv("HOME"), ".cache", "huggingface"))
}

// hubCache returns the folder of the hub's client on this machine, "" if there is none.
func (a *app) hubCache() string {
	if dir := a.hubFolder(); filepath.IsAbs(dir) && exists(dir) {
		return dir
	}
	return ""
}

// token returns the token of the model hub in the environment.
func (a *app) token() string {
	for _, name := range append([]string{"PIPELINE_VAR_hf_token"}, hub.Tokens...) {
		if token := a.Getenv(name); token != "" {
			return token
		}
	}
	return ""
}

// passToken sets the variable hf_token of the file to the token of the environment.
func (a *app) passToken() {
	if token := a.token(); token != "" {
		environ := append(slices.Clone(a.Environ()), "PIPELINE_VAR_hf_token="+token)
		a.Environ = func() []string { return slices.Clone(environ) }
	}
}
