package slurm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
)

func TestCommandLine(t *testing.T) {
	box := func(c steps.ContainerSpec) *steps.ContainerSpec { return &c }
	mounts := []steps.Mount{{Source: "/data/hf", Target: "/root/.cache/huggingface", ReadOnly: true}}
	common := "srun --jobid=7 --job-name=sut.1@pipeline/r/o --overlap --nodes=1 --ntasks=1 --nodelist=n1"
	rest := " --cpu-bind=none --mpi=none --input=none --export=ALL --chdir="
	second := `sh -c CUDA_VISIBLE_DEVICES=$(printf %s "$CUDA_VISIBLE_DEVICES" | cut -d, -f3,4); export CUDA_VISIBLE_DEVICES; exec "$@" sh `
	third, dir := slurm.Place{GPUs: []int{2, 3}}, t.TempDir()
	for name, tt := range map[string]struct {
		opt  slurm.Options
		at   slurm.Place
		p    steps.Process
		want string
	}{
		"plain": {
			slurm.Options{}, slurm.Place{}, steps.Process{Argv: []string{"vllm", "serve", "m"}, Dir: "/work dir"},
			common + " --gres=none" + rest + "/work dir -- vllm serve m",
		},
		"gpus": {
			slurm.Options{}, third, steps.Process{Argv: []string{"vllm"}},
			common + " --gres=gpu:4" + rest + "/ -- " + second + "vllm",
		},
		"own variables stay here": {
			slurm.Options{Unset: []string{"A", "B"}}, slurm.Place{}, steps.Process{Argv: []string{"vllm"}},
			common + " --gres=none" + rest + `/ -- sh -c unset A B; exec "$@" sh vllm`,
		},
		"pyxis": {
			slurm.Options{Spec: steps.SlurmSpec{Runtime: steps.RuntimePyxis}, Folder: func(string) (string, error) { return dir, nil }}, third,
			steps.Process{Argv: []string{"vllm", "serve"}, Dir: "/nowhere", Files: []steps.File{{Name: "f"}},
				Container: box(steps.ContainerSpec{Image: "nvcr.io/nvidia/vllm:25.1", Mounts: mounts, Workdir: "/w"})},
			common + " --gres=gpu:4" + rest + "/ --container-image=nvcr.io#nvidia/vllm:25.1 --no-container-mount-home --no-container-entrypoint" +
				" --container-mounts=/data/hf:/root/.cache/huggingface:ro," + dir + ":" + dir + ":ro --container-workdir=/w -- " +
				second + "vllm serve",
		},
		"apptainer": {
			slurm.Options{Spec: steps.SlurmSpec{Runtime: steps.RuntimeApptainer}}, third, steps.Process{Argv: []string{"vllm", "serve"},
				Container: box(steps.ContainerSpec{Image: "vllm/vllm-openai:v0.11.0", Mounts: mounts})},
			common + " --gres=gpu:4" + rest + "/ -- " + second +
				"apptainer exec --nv --bind /data/hf:/root/.cache/huggingface:ro docker://vllm/vllm-openai:v0.11.0 vllm serve",
		},
		"apptainer's own entrypoint": {
			slurm.Options{Spec: steps.SlurmSpec{Runtime: steps.RuntimeApptainer}}, slurm.Place{}, steps.Process{Argv: []string{"--port", "1"},
				Container: box(steps.ContainerSpec{Image: "/img/x.sif", OwnEntrypoint: true})},
			common + " --gres=none" + rest + "/ -- apptainer run /img/x.sif --port 1",
		},
	} {
		tt.opt.Spec.GPUsPerNode, tt.p.Name = 4, "sut"
		r, _, err := launched(t, tt.opt, tt.at, tt.p)
		if err != nil || len(r.steps) != 1 {
			t.Fatalf("%s: %d steps, %v", name, len(r.steps), err)
		}
		if diff := cmp.Diff(tt.want, strings.Join(r.steps[0].Argv, " ")); diff != "" {
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
		argv, err := slurm.Show(steps.SlurmSpec{Runtime: steps.RuntimePyxis}, slurm.Place{},
			steps.Process{Argv: []string{"x"}, Container: &steps.ContainerSpec{Image: image}})
		if err != nil || !slices.Contains(argv, "--container-image="+want) {
			t.Errorf("%s: %q, %v, want %s", image, argv, err, want)
		}
	}
}

// A mark tells jobs and steps of this program from others.
func TestMark(t *testing.T) {
	m := slurm.Mark{RunID: "20261121-132229-724658e9", Owner: "boot/pid:[1]/17:99"}
	opt := slurm.Options{Spawner: commands{
		"squeue --noheader --me --format": "6|" + m.String() + "\n1|\n2|(null)\n3|pipeline\n4|pipeline/\n5|pipeline//x\n8|mine/r/o\n",
		"squeue --noheader --me --steps":  "6.1|of a job that ends@" + m.String() + "\n7.3|sut.1@" + m.String() + "\n7.4|sut.1\n",
	}}
	got, err := slurm.Leftovers(t.Context(), opt, func(slurm.Mark) bool { return true })
	want := []slurm.Left{{Kind: "job", ID: "6", Mark: m}, {Kind: "step", ID: "7.3", Mark: m}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	r, _, err := launched(t, slurm.Options{}, slurm.Place{}, steps.Process{Name: `deployment.pd["base"].server.prefill`, Argv: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "--job-name=deployment.pd-base-.server.prefill.1@pipeline/r/o"; !slices.Contains(r.steps[0].Argv, want) {
		t.Errorf("%q, want %q", r.steps[0].Argv, want)
	}
}
