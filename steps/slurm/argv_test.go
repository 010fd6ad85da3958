package slurm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
)

func TestCommandLine(t *testing.T) {
	box := func(c steps.ContainerSpec) *steps.ContainerSpec { return &c }
	mounts := []steps.Mount{{Source: "/data/hf", Target: "/root/.cache/huggingface", ReadOnly: true}}
	common := "srun --jobid=7 --job-name=sut.1 --overlap --nodes=1 --ntasks=1 --nodelist=n1"
	rest := " --cpu-bind=none --mpi=none --input=none --export=ALL --chdir="
	second := `sh -c CUDA_VISIBLE_DEVICES=$(printf %s "$CUDA_VISIBLE_DEVICES" | cut -d, -f3,4); export CUDA_VISIBLE_DEVICES; exec "$@" sh `
	for name, tt := range map[string]struct {
		c    command
		want string
	}{
		"plain": {
			command{process: steps.Process{Argv: []string{"vllm", "serve", "m"}, Dir: "/work dir"}},
			common + " --gres=none" + rest + "/work dir -- vllm serve m",
		},
		"gpus": {
			command{at: Place{GPUs: []int{2, 3}}, gpusPerNode: 4, process: steps.Process{Argv: []string{"vllm"}}},
			common + " --gres=gpu:4" + rest + "/ -- " + second + "vllm",
		},
		"own variables stay here": {
			command{unset: []string{"A", "B"}, process: steps.Process{Argv: []string{"vllm"}}},
			common + " --gres=none" + rest + `/ -- sh -c unset A B; exec "$@" sh vllm`,
		},
		"pyxis": {
			command{
				runtime: steps.RuntimePyxis, at: Place{GPUs: []int{2, 3}}, gpusPerNode: 4, files: "/out/files",
				process: steps.Process{Argv: []string{"vllm", "serve"}, Dir: "/nowhere",
					Container: box(steps.ContainerSpec{Image: "nvcr.io/nvidia/vllm:25.1", Mounts: mounts, Workdir: "/w"})},
			},
			common + " --gres=gpu:4" + rest + "/ --container-image=nvcr.io#nvidia/vllm:25.1 --no-container-mount-home --no-container-entrypoint" +
				" --container-mounts=/data/hf:/root/.cache/huggingface:ro,/out/files:/out/files:ro --container-workdir=/w -- " + second + "vllm serve",
		},
		"apptainer": {
			command{
				runtime: steps.RuntimeApptainer, at: Place{GPUs: []int{2, 3}}, gpusPerNode: 4,
				process: steps.Process{Argv: []string{"vllm", "serve"},
					Container: box(steps.ContainerSpec{Image: "vllm/vllm-openai:v0.11.0", Mounts: mounts})},
			},
			common + " --gres=gpu:4" + rest + "/ -- " + second +
				"apptainer exec --nv --bind /data/hf:/root/.cache/huggingface:ro docker://vllm/vllm-openai:v0.11.0 vllm serve",
		},
		"apptainer's own entrypoint": {
			command{
				runtime: steps.RuntimeApptainer,
				process: steps.Process{Argv: []string{"--port", "1"}, Container: box(steps.ContainerSpec{Image: "/img/x.sif", OwnEntrypoint: true})},
			},
			common + " --gres=none" + rest + "/ -- apptainer run /img/x.sif --port 1",
		},
	} {
		tt.c.job, tt.c.node, tt.c.name = "7", "n1", "sut.1"
		argv, err := tt.c.argv()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, strings.Join(argv, " ")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestEnrootImage(t *testing.T) {
	for image, want := range map[string]string{
		"vllm/vllm-openai:v0.11.0":  "vllm/vllm-openai:v0.11.0",
		"ubuntu":                    "ubuntu",
		"nvcr.io/nvidia/x:1":        "nvcr.io#nvidia/x:1",
		"localhost:5000/x":          "localhost:5000#x",
		"/img/vllm.sqsh":            "/img/vllm.sqsh",
		"nvcr.io#nvidia/x:1":        "nvcr.io#nvidia/x:1",
		"docker://nvcr.io#nvidia/x": "docker://nvcr.io#nvidia/x",
	} {
		if got := enrootImage(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestMark(t *testing.T) {
	m := Mark{RunID: "20261121-132229-724658e9", Owner: "boot/pid:[1]/17:99"}
	if got, ok := parseMark(m.String()); !ok || got != m {
		t.Errorf("%q is read as %+v", m, got)
	}
	name := stepName(`deployment.pd["base"].server.prefill`, 3, m)
	if want := "deployment.pd-base-.server.prefill.3@" + m.String(); name != want {
		t.Errorf("%q, want %q", name, want)
	}
	for _, other := range []string{"", "(null)", "pipeline", "pipeline/", "pipeline//x", "mine/r/o"} {
		if m, ok := parseMark(other); ok {
			t.Errorf("%q is read as a mark: %+v", other, m)
		}
	}
}
