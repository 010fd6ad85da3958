package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authorization "k8s.io/api/authorization/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	api "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/servegate/pipeline/steps/kubernetes"
)

// kubernetesImage is this test binary as an image on all nodes.
const kubernetesImage = "pipeline.test/pipeline:test"

// needKubernetes skips the test unless PIPELINE_KUBERNETES is the folder of a cluster that
// .ci/kubernetes.sh has started, and returns a rig of it.
func needKubernetes(t *testing.T) *kubernetesRig {
	t.Helper()
	r := &kubernetesRig{dir: os.Getenv("PIPELINE_KUBERNETES")}
	if r.dir == "" {
		skipOrFail(t, "kubernetes", "PIPELINE_KUBERNETES does not name the folder of a cluster; start one with .ci/kubernetes.sh up DIR")
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(r.dir, "admin.kubeconfig"))
	if err == nil {
		r.client, err = api.NewForConfig(config)
	}
	if err != nil {
		skipOrFail(t, "kubernetes", err.Error())
	}
	self, err := exec.LookPath("pipeline") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	r.script(t, "image", r.dir, kubernetesImage, self)
	return r
}

// kubernetesRig is a cluster and what tests do to it.
type kubernetesRig struct {
	dir    string
	client *api.Clientset
}

func (r *kubernetesRig) script(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(filepath.Join("..", ".ci", "kubernetes.sh"), args...).CombinedOutput(); err != nil {
		t.Fatalf("kubernetes.sh %v: %v\n%s", args, err, out)
	}
}

// namespace is a namespace in which the user "bench" has the rights that the program says it needs.
type namespace struct {
	*kubernetesRig
	name   string
	dir    string // with the pipeline file
	queued bool   // Kueue has workloads here
}

func (r *kubernetesRig) namespace(t *testing.T) *namespace {
	t.Helper()
	ctx := context.Background()
	made, err := r.client.CoreV1().Namespaces().Create(ctx, &core.Namespace{ObjectMeta: meta.ObjectMeta{GenerateName: "pipeline-test-"}},
		meta.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := &namespace{kubernetesRig: r, name: made.Name, dir: t.TempDir()}
	t.Cleanup(func() { _ = r.client.CoreV1().Namespaces().Delete(ctx, m.name, meta.DeleteOptions{}) })
	if !within(time.Minute, 100*time.Millisecond, func() bool {
		_, err := r.client.CoreV1().ServiceAccounts(m.name).Get(ctx, "default", meta.GetOptions{})
		return err == nil
	}) {
		t.Fatal("the namespace never got its service account")
	}
	m.grant(t, rbac.Subject{Kind: "User", Name: "bench", APIGroup: rbac.GroupName})
	content, err := os.ReadFile(filepath.Join("testdata", "kubernetes.pipeline.hcl"))
	if err == nil {
		err = os.WriteFile(filepath.Join(m.dir, "f.hcl"), content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// grant gives somebody the rights of the Role that `init --kubernetes` writes.
func (m *namespace) grant(t *testing.T, to rbac.Subject) {
	t.Helper()
	ctx := context.Background()
	role := &rbac.Role{ObjectMeta: meta.ObjectMeta{Name: "pipeline"}}
	for _, right := range kubernetes.Rights() {
		role.Rules = append(role.Rules, rbac.PolicyRule{APIGroups: []string{right.Group}, Resources: []string{right.Resource},
			Verbs: right.Verbs})
	}
	_, err := m.client.RbacV1().Roles(m.name).Create(ctx, role, meta.CreateOptions{})
	if err == nil {
		_, err = m.client.RbacV1().RoleBindings(m.name).Create(ctx, &rbac.RoleBinding{
			ObjectMeta: meta.ObjectMeta{Name: "pipeline"}, RoleRef: rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: "pipeline"},
			Subjects: []rbac.Subject{to},
		}, meta.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	m.awaitRights(t, to)
}

// awaitRights waits until the API server has heard of a Role, a moment after it has stored it.
func (m *namespace) awaitRights(t *testing.T, of rbac.Subject) {
	t.Helper()
	user := of.Name
	if of.Kind == "ServiceAccount" {
		user = "system:serviceaccount:" + of.Namespace + ":" + of.Name
	}
	review := &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
		User: user, ResourceAttributes: &authorization.ResourceAttributes{Namespace: m.name, Verb: "create", Resource: "pods"},
	}}
	if !within(time.Minute, 100*time.Millisecond, func() bool {
		now, err := m.client.AuthorizationV1().SubjectAccessReviews().Create(context.Background(), review, meta.CreateOptions{})
		return err == nil && now.Status.Allowed
	}) {
		t.Fatalf("%s never got its rights", user)
	}
}

// admit has the namespace admit Pods of a level of the Pod Security Standards alone.
func (m *namespace) admit(t *testing.T, level string) {
	t.Helper()
	m.label(t, "pod-security.kubernetes.io/enforce", level)
}

// label puts a label on the namespace.
func (m *namespace) label(t *testing.T, key, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
	if _, err := m.client.CoreV1().Namespaces().Patch(context.Background(), m.name, types.MergePatchType, patch,
		meta.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// claim makes a claim that is bound to a folder of a node.
func (m *namespace) claim(t *testing.T, name, node string) {
	t.Helper()
	ctx := context.Background()
	size := core.ResourceList{core.ResourceStorage: resource.MustParse("1Mi")}
	volume := &core.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: m.name}, Spec: core.PersistentVolumeSpec{
		Capacity: size, AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteMany}, StorageClassName: m.name,
		PersistentVolumeSource: core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: t.TempDir()}},
		NodeAffinity: &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{
			// by its label: fields of a node mean nothing to the scheduler here, who would take any node
			{MatchExpressions: []core.NodeSelectorRequirement{{Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: []string{node}}}},
		}}},
	}}
	if _, err := m.client.CoreV1().PersistentVolumes().Create(ctx, volume, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.client.CoreV1().PersistentVolumes().Delete(ctx, m.name, meta.DeleteOptions{}) })
	claims := m.client.CoreV1().PersistentVolumeClaims(m.name)
	if _, err := claims.Create(ctx, &core.PersistentVolumeClaim{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: core.PersistentVolumeClaimSpec{
		AccessModes: volume.Spec.AccessModes, StorageClassName: &m.name, Resources: core.VolumeResourceRequirements{Requests: size},
		VolumeName: m.name,
	}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if !within(time.Minute, 100*time.Millisecond, func() bool {
		now, err := claims.Get(ctx, name, meta.GetOptions{})
		return err == nil && now.Status.Phase == core.ClaimBound
	}) {
		t.Fatal("the claim was never bound")
	}
}

// edit changes the pipeline file.
func (m *namespace) edit(t *testing.T, from, to string) {
	t.Helper()
	path := filepath.Join(m.dir, "f.hcl")
	text, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(text), from) {
		t.Fatalf("the file has no %q", from)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// args of the program in the namespace.
func (m *namespace) args(more ...string) []string {
	return append([]string{"run", "f.hcl", "--out", "out", "--progress", "plain", "--var", "namespace=" + m.name}, more...)
}

// run carries the file out as the user "bench".
func (m *namespace) run(t *testing.T, more ...string) (string, int) {
	t.Helper()
	cmd, out := m.command(t, m.args(more...)...)
	err := cmd.Run()
	return out.String(), exitStatus(t, err)
}

// command of the program by the user "bench".
func (m *namespace) command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, out := markedCommand(t, m.dir, args...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+filepath.Join(m.kubernetesRig.dir, "bench.kubeconfig"))
	return cmd, out
}

// kubeconfig returns the file of the user "bench" with the namespace as that of its context.
func (m *namespace) kubeconfig(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(filepath.Join(m.kubernetesRig.dir, "bench.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = m.name
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// meanwhile does the same, and something else at a moment of it: a word of its journal.
func (m *namespace) meanwhile(t *testing.T, moment string, do func(program *os.Process), more ...string) (string, int) {
	t.Helper()
	cmd, out := m.command(t, m.args(more...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !within(2*time.Minute, 20*time.Millisecond, fileHolds(filepath.Join(m.dir, "out", "events.jsonl"), moment)) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the journal never held %s\n%s", moment, out)
	}
	do(cmd.Process)
	err := cmd.Wait()
	return out.String(), exitStatus(t, err)
}

// pod finds the Pod of a run by its role and a part of what it is called.
func (m *namespace) pod(t *testing.T, role, name string) *core.Pod {
	t.Helper()
	var found *core.Pod
	if !within(time.Minute, 100*time.Millisecond, func() bool {
		list, err := m.client.CoreV1().Pods(m.name).List(context.Background(), meta.ListOptions{LabelSelector: "pipeline/role=" + role})
		if err != nil {
			return false
		}
		i := slices.IndexFunc(list.Items, func(p core.Pod) bool { return strings.Contains(p.Annotations["pipeline/name"], name) })
		if i >= 0 {
			found = &list.Items[i]
		}
		return i >= 0
	}) {
		t.Fatalf("there is no Pod of role %s called %s", role, name)
	}
	return found
}

// computeQuota admits no Pod that does not name its processors and memory.
var computeQuota = map[core.ResourceName]string{
	core.ResourceRequestsCPU: "4", core.ResourceLimitsCPU: "8", core.ResourceRequestsMemory: "4Gi", core.ResourceLimitsMemory: "8Gi",
}

// quota gives the namespace a quota, and waits until it holds.
func (m *namespace) quota(t *testing.T, name string, amounts map[core.ResourceName]string) {
	t.Helper()
	hard := core.ResourceList{}
	for resourceName, amount := range amounts {
		hard[resourceName] = resource.MustParse(amount)
	}
	quotas := m.client.CoreV1().ResourceQuotas(m.name)
	if _, err := quotas.Create(t.Context(), &core.ResourceQuota{ObjectMeta: meta.ObjectMeta{Name: name},
		Spec: core.ResourceQuotaSpec{Hard: hard}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if !within(time.Minute, 100*time.Millisecond, func() bool { // the controller counts first
		q, err := quotas.Get(t.Context(), name, meta.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	}) {
		t.Fatal("the quota never held")
	}
}

// empty waits until nothing of a run is left in the namespace.
func (m *namespace) empty(t *testing.T, limit time.Duration) {
	t.Helper()
	var left []string
	if !within(limit, 200*time.Millisecond, func() bool {
		ctx := context.Background()
		left = nil
		pods, podsErr := m.client.CoreV1().Pods(m.name).List(ctx, meta.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=pipeline"})
		jobs, jobsErr := m.client.BatchV1().Jobs(m.name).List(ctx, meta.ListOptions{})
		secrets, secretsErr := m.client.CoreV1().Secrets(m.name).List(ctx,
			meta.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=pipeline"})
		if podsErr != nil || jobsErr != nil || secretsErr != nil {
			left = []string{"the API server does not answer"}
			return false
		}
		for _, p := range pods.Items {
			left = append(left, "Pod "+p.Name)
		}
		for _, j := range jobs.Items {
			left = append(left, "Job "+j.Name)
		}
		for _, s := range secrets.Items {
			left = append(left, "Secret "+s.Name)
		}
		if m.queued {
			left = append(left, m.workloads()...)
		}
		return len(left) == 0
	}) {
		t.Errorf("left in the namespace: %v", left)
	}
}

// kubernetesCase is a pipeline that is carried out in a namespace of its own.
type kubernetesCase struct {
	name string
	code int
	want string // in what the program prints
	run  func(t *testing.T, m *namespace) (string, int)
}

// TestKubernetes carries pipelines out as Pods of a cluster of two nodes and ends them in every way:
// each ends as named, and nothing is left in the namespace.
func TestKubernetes(t *testing.T) {
	r := needKubernetes(t)
	ctx := context.Background()
	many := []string{"--var", "requests=600"}
	pairs := append([]string{"--var", "target=pairs"}, many...)
	away := func(d time.Duration) func(*testing.T, *namespace) (string, int) {
		return func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.meanwhile(t, runStarts, func(*os.Process) {
				r.script(t, "api", "stop", r.dir)
				// real time: the server is away for as long as the name of the case says
				time.Sleep(d)
				r.script(t, "api", "start", r.dir)
			}, pairs...)
		}
	}
	cases := []kubernetesCase{
		{"servers", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			text, code := m.run(t)
			if code == 0 {
				doc := machineOf(t, m.dir)
				if node := doc.Machine["kubernetes.node0"]; !strings.HasPrefix(node, "k") || doc.Targets[0].Describe["kubernetes.node"] != node ||
					doc.Machine["kubernetes.node0.cpus"] == "" {
					t.Errorf("machine %v, target %v", doc.Machine, doc.Targets[0].Describe)
				}
			}
			return text, code
		}},
		{"two images by one command", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			self, err := exec.LookPath("pipeline")
			if err != nil {
				t.Fatal(err)
			}
			for _, tag := range []string{"one", "two"} {
				r.script(t, "image", r.dir, "pipeline.test/server:"+tag, self, "simulate", "--", "vllm", "serve", "tiny")
			}
			cmd, out := m.command(t, "ab", "pipeline.test/server:one", "pipeline.test/server:two", "--engine", "openai", "--model", "tiny",
				"--input-len", "32", "--output-len", "8", "--concurrency", "2", "--requests", "20", "--repeats", "2", "--fail-on", "never",
				"--kubernetes", kubernetesImage, "--out", "out", "--progress", "plain")
			cmd.Env = append(cmd.Env, "KUBECONFIG="+m.kubeconfig(t))
			code := exitStatus(t, cmd.Run())
			if code == 0 {
				if doc := machineOf(t, m.dir); !strings.HasPrefix(doc.Machine["kubernetes.node0"], "k") || len(doc.Launches) != 4 {
					t.Errorf("%d launches on %v", len(doc.Launches), doc.Machine)
				}
			}
			return out.String(), code
		}},
		{"pairs over two nodes", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			text, code := m.run(t, "--var", "target=pairs")
			if code == 0 {
				for _, target := range machineOf(t, m.dir).Targets {
					if a, b := target.Describe["prefill/kubernetes.node"], target.Describe["decode/kubernetes.node"]; a == "" || b == "" || a == b {
						t.Errorf("%s: prefill on %q, decode on %q", target.Addr, a, b)
					}
				}
			}
			return text, code
		}},
		{"load from a node", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			text, code := m.run(t, "--var", "load_node=1")
			if code == 0 {
				checkLoadPod(t, m.dir)
			}
			return text, code
		}},
		{"pairs with the load and the router on a node", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			text, code := m.run(t, "--var", "load_node=0", "--var", "target=pairs")
			if code == 0 {
				checkLoadPod(t, m.dir)
			}
			return text, code
		}},
		{"repeats on machines of their own, with their load", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.edit(t, "  kubernetes {\n", "  machines {}\n  kubernetes {\n    nodes = 2\n")
			text, code := m.run(t, "--var", "load_node=0", "--var", "repeats=2")
			if code == 0 {
				checkLoadPod(t, m.dir)
				at := map[int]string{}
				for _, run := range machineOf(t, m.dir).Benchmarks[0].Cells[0].Runs {
					at[run.Repeat] = run.Nodes
				}
				if at[1] == at[2] || at[1] == "" || at[2] == "" {
					t.Errorf("the repeats ran on %v", at)
				}
			}
			return text, code
		}},
		{"hostile names and a secret by reference", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			_, err := m.client.CoreV1().Secrets(m.name).Create(ctx, &core.Secret{ObjectMeta: meta.ObjectMeta{Name: "hf"},
				StringData: map[string]string{"token": "s3cret"}}, meta.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return m.run(t, "--var", `head=$(HOME) "; rm -rf / # ../é`, "--var", `secrets={HF_TOKEN="hf/token"}`)
		}},
		{"a namespace that admits restricted Pods alone", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.admit(t, "restricted")
			return m.run(t, "--var", "confined=true")
		}},
		{"a server that the namespace does not admit", 4, `violates PodSecurity "restricted:latest"`, func(t *testing.T,
			m *namespace) (string, int) {
			t.Helper()
			m.admit(t, "restricted")
			return m.run(t)
		}},
		{"a volume that one node reaches", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.claim(t, "weights", "k2")
			text, code := m.run(t, "--var", `volumes={weights="/models"}`)
			if code == 0 {
				if node := machineOf(t, m.dir).Machine["kubernetes.node0"]; node != "k2" {
					t.Errorf("servers with a volume of k2 were placed on %s", node)
				}
			}
			return text, code
		}},
		{"a volume that is not there", 4, `persistentvolumeclaim "weights" not found in namespace pipeline-test-`,
			func(t *testing.T, m *namespace) (string, int) {
				t.Helper()
				return m.run(t, "--var", `volumes={weights="/models"}`)
			}},
		{"two runs in one namespace", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			var other sync.WaitGroup
			cmd, out := m.command(t, append(m.args(), "--out", "other")...)
			other.Go(func() {
				if err := cmd.Run(); err != nil {
					t.Errorf("the other run: %v\n%s", err, out)
				}
			})
			text, code := m.run(t)
			other.Wait()
			if said := "has other runs as well"; !strings.Contains(text, said) && !strings.Contains(out.String(), said) {
				t.Errorf("neither run warns of the other:\n%s\n%s", text, out)
			}
			return text, code
		}},
		{"inside a Pod", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.inside(t)
		}},
		{"an image that is not there", 4, "image_not_pulled", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.run(t, "--var", "server_image=10.79.0.1:5999/none:1")
		}},
		{"an image without this program", 4, "image_not_pulled", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.run(t, "--var", "image=10.79.0.1:5999/none:1")
		}},
		{"no room", 4, "Insufficient nvidia.com/gpu", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.run(t, "--var", "gpus=9", "--var", "queue_timeout=3s")
		}},
		{"quota exceeded", 4, "exceeded quota: pods", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.quota(t, "pods", map[core.ResourceName]string{core.ResourcePods: "1"})
			return m.run(t)
		}},
		{"a quota on processors and memory", 0, "exit status 0", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.quota(t, "compute", computeQuota)
			named := `{cpu="200m",memory="256Mi"}`
			return m.run(t, "--var", "resources="+named, "--var", "load_resources="+named, "--var", "load_node=1")
		}},
		{"what doctor says of servers that a quota refuses", 4, "must specify limits.cpu for: main", func(t *testing.T,
			m *namespace) (string, int) {
			t.Helper()
			m.quota(t, "compute", computeQuota)
			cmd, out := m.command(t, "doctor", "f.hcl", "--var", "namespace="+m.name)
			err := cmd.Run()
			return out.String(), exitStatus(t, err)
		}},
		{"resources that a LimitRange sets", 0, "the cluster gave its Pod other resources than the file asks for",
			func(t *testing.T, m *namespace) (string, int) {
				t.Helper()
				limits := &core.LimitRange{ObjectMeta: meta.ObjectMeta{Name: "default"}, Spec: core.LimitRangeSpec{Limits: []core.LimitRangeItem{{
					Type: core.LimitTypeContainer, Default: core.ResourceList{core.ResourceCPU: resource.MustParse("900m")},
				}}}}
				if _, err := m.client.CoreV1().LimitRanges(m.name).Create(ctx, limits, meta.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				text, code := m.run(t)
				if code == 0 {
					for _, target := range machineOf(t, m.dir).Targets {
						if got := target.Describe["kubernetes.altered_resources"]; got != "requests cpu=900m, limits cpu=900m" {
							t.Errorf("%s: altered %q", target.Addr, got)
						}
					}
				}
				return text, code
			}},
		{"a priority class that is not there", 4, "no PriorityClass with name nope was found", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			began := time.Now()
			text, code := m.run(t, "--var", "priority_class=nope")
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it was named after %s", took)
			}
			return text, code
		}},
		{"without rights", 4, "this user may not create batch/jobs, create pods, create pods/exec", func(t *testing.T,
			m *namespace) (string, int) {
			t.Helper()
			if err := m.client.RbacV1().RoleBindings(m.name).Delete(ctx, "pipeline", meta.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			return m.run(t)
		}},
		{"rights taken away during a run", 4, "see that the RoleBinding of this user is still there", func(t *testing.T,
			m *namespace) (string, int) {
			t.Helper()
			bindings := m.client.RbacV1().RoleBindings(m.name)
			binding, err := bindings.Get(ctx, "pipeline", meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			text, code := m.meanwhile(t, runStarts, func(*os.Process) {
				if err := bindings.Delete(ctx, binding.Name, meta.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}, many...)
			binding.ResourceVersion = ""
			if _, err := bindings.Create(ctx, binding, meta.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			m.awaitRights(t, binding.Subjects[0])
			cmd, out := m.command(t, "cleanup", "--kubernetes", "--kube-namespace", m.name)
			if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "deleted Job pipeline-run-") {
				t.Errorf("with its rights again: %v\n%s", err, out)
			}
			return text, code
		}},
		{"a pull secret that is not there, with images that are", 0, "does not have nope of pull_secrets", func(t *testing.T,
			m *namespace) (string, int) {
			t.Helper()
			m.edit(t, "    load_node     = var.load_node\n", "    load_node     = var.load_node\n    pull_secrets  = [\"nope\"]\n")
			return m.run(t)
		}},
		{"its namespace deleted", 4, "is being deleted, and with it the run", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.meanwhile(t, runStarts, func(*os.Process) {
				if err := m.client.CoreV1().Namespaces().Delete(ctx, m.name, meta.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}, many...)
		}},
		{"out of memory", 4, "its limit of memory is 8Mi", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.run(t, append(many, "--var", "memory=8MiB")...) // its garbage alone is more
		}},
		{"evicted", 4, "pod_evicted", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.meanwhile(t, runStarts, func(*os.Process) {
				name := m.pod(t, "server", "server.vllm.sut").Name
				if err := m.client.PolicyV1().Evictions(m.name).Evict(ctx,
					&policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: name, Namespace: m.name}}); err != nil {
					t.Error(err)
				}
			}, many...)
		}},
		{"the keeper evicted", 4, "; it kept the run, whose other Pods were deleted with it (pod_evicted)",
			func(t *testing.T, m *namespace) (string, int) {
				t.Helper()
				return m.meanwhile(t, runStarts, func(*os.Process) {
					name := m.pod(t, "keeper", "keeper").Name
					if err := m.client.PolicyV1().Evictions(m.name).Evict(ctx,
						&policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: name, Namespace: m.name}}); err != nil {
						t.Error(err)
					}
				}, many...)
			}},
		{"deleted by someone else", 4, "pod_deleted", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.meanwhile(t, runStarts, func(*os.Process) {
				if err := m.client.CoreV1().Pods(m.name).Delete(ctx, m.pod(t, "server", "decode").Name,
					meta.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
					t.Error(err)
				}
			}, pairs...)
		}},
		{"deleted by someone else, with the time to end", 4, "pod_deleted", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.meanwhile(t, runStarts, func(*os.Process) {
				if err := m.client.CoreV1().Pods(m.name).Delete(ctx, m.pod(t, "server", "server.vllm.sut").Name, meta.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}, many...)
		}},
		{"a server that crashes", 0, "engine_failed, exit status 1", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.run(t, "--var", `fails=["crash_after=9"]`)
		}},
		{"the load generator's Pod deleted", 4, "pod_deleted", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.meanwhile(t, runStarts, func(*os.Process) {
				if err := m.client.CoreV1().Pods(m.name).Delete(ctx, m.pod(t, "load", "load1").Name,
					meta.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
					t.Error(err)
				}
			}, append(many, "--var", "load_node=1")...)
		}},
		{"the load generator's Pod lost between two launches", 0, "the Pod of the load generator is replaced",
			func(t *testing.T, m *namespace) (string, int) {
				t.Helper()
				return m.meanwhile(t, secondLaunch, func(*os.Process) {
					if err := m.client.CoreV1().Pods(m.name).Delete(ctx, m.pod(t, "load", "load1").Name,
						meta.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
						t.Error(err)
					}
				}, "--var", "load_node=1")
			}},
		{"node lost", 4, "node_lost", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			lost := ""
			text, code := m.meanwhile(t, runStarts, func(*os.Process) {
				lost = m.pod(t, "server", "decode").Spec.NodeName
				r.script(t, "lose", r.dir, lost)
			}, pairs...)
			r.script(t, "start", r.dir, lost)
			return text, code
		}},
		{"API server away for 30 seconds", 0, "exit status 0", away(30 * time.Second)},
		{"API server away for five minutes", 4, "api_lost", away(5 * time.Minute)},
		{"killed, and nobody cleans up", -1, "", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.meanwhile(t, runStarts, func(p *os.Process) { _ = p.Kill() }, pairs...)
		}},
		{"interrupted", 130, "interrupted", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			return m.meanwhile(t, runStarts, func(p *os.Process) {
				if err := p.Signal(syscall.SIGINT); err != nil {
					t.Error(err)
				}
			}, pairs...)
		}},
		{"killed", 0, "deleted Job pipeline-run-", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.meanwhile(t, runStarts, func(p *os.Process) { _ = p.Kill() }, pairs...)
			cmd, out := m.command(t, "cleanup", "--kubernetes", "--kube-namespace", m.name)
			err := cmd.Run()
			return out.String(), exitStatus(t, err)
		}},
		{"killed on another machine", 0, "stays: its program runs, or ran on another machine", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.meanwhile(t, runStarts, func(p *os.Process) { _ = p.Kill() }, pairs...)
			jobs, err := m.client.BatchV1().Jobs(m.name).List(ctx, meta.ListOptions{})
			if err != nil || len(jobs.Items) != 1 {
				t.Fatalf("%v, %v", jobs, err)
			}
			patch := []byte(`{"metadata":{"annotations":{"pipeline/owner":"elsewhere/pid:[1]/1:1"}}}`)
			if _, err := m.client.BatchV1().Jobs(m.name).Patch(ctx, jobs.Items[0].Name, types.MergePatchType, patch,
				meta.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			first, out := m.command(t, "cleanup", "--kubernetes", "--kube-namespace", m.name)
			firstErr := first.Run()
			second, rest := m.command(t, "cleanup", "--kubernetes", "--kube-namespace", m.name, "--run-id",
				jobs.Items[0].Annotations["pipeline/run"])
			if err := second.Run(); err != nil || !strings.Contains(rest.String(), "deleted Job") {
				t.Errorf("%v\n%s", err, rest)
			}
			return out.String(), exitStatus(t, firstErr)
		}},
		{"nothing to clean up", 0, "no run has left a Job in namespace pipeline-test-", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			cmd, out := m.command(t, "cleanup", "--kubernetes", "--kube-namespace", m.name)
			err := cmd.Run()
			return out.String(), exitStatus(t, err)
		}},
		{"what doctor says of the cluster", 0, "all that a run needs in namespace pipeline-test-", func(t *testing.T,
			m *namespace) (string, int) {
			t.Helper()
			cmd, out := m.command(t, "doctor", "f.hcl", "--var", "namespace="+m.name)
			err := cmd.Run()
			return out.String(), exitStatus(t, err)
		}},
		{"killed and resumed", 0, "left by the interrupted run, was removed", func(t *testing.T, m *namespace) (string, int) {
			t.Helper()
			m.meanwhile(t, secondLaunch, func(p *os.Process) { _ = p.Kill() }, pairs...)
			return m.run(t, append(pairs, "--resume")...)
		}},
	}
	for _, tt := range append(cases, queueCases()...) {
		rounds, limit := kubernetesTimes(t), time.Minute
		if slices.Contains(patient, tt.name) {
			rounds, limit = min(1, len(os.Getenv("PIPELINE_KUBERNETES_TIMES"))), 8*time.Minute
		}
		for round := range rounds {
			t.Run(fmt.Sprintf("%s/%d", tt.name, round+1), func(t *testing.T) {
				if !slices.Contains(disturbing, tt.name) {
					t.Parallel()
				}
				m := r.namespace(t)
				text, code := tt.run(t, m)
				if code != tt.code || !strings.Contains(text, tt.want) {
					t.Errorf("exit status %d, want %d and %q\n%s", code, tt.code, tt.want, text)
				}
				m.empty(t, limit)
			})
		}
	}
}

// disturbing are the cases that no other run on the cluster would survive.
var disturbing = []string{"node lost", "API server away for 30 seconds", "API server away for five minutes"}

// patient are the cases that take minutes. They run once, where PIPELINE_KUBERNETES_TIMES is set.
var patient = []string{"API server away for five minutes", "killed, and nobody cleans up"}

// inside carries the file out in a Pod with a service account, and returns what it printed.
func (m *namespace) inside(t *testing.T) (string, int) {
	t.Helper()
	ctx := context.Background()
	if err := m.client.RbacV1().RoleBindings(m.name).Delete(ctx, "pipeline", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.client.RbacV1().Roles(m.name).Delete(ctx, "pipeline", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.grant(t, rbac.Subject{Kind: "ServiceAccount", Name: "default", Namespace: m.name})
	content, err := os.ReadFile(filepath.Join(m.dir, "f.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	files := &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "file"}, Data: map[string]string{"f.hcl": string(content)}}
	if _, err := m.client.CoreV1().ConfigMaps(m.name).Create(ctx, files, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	runner := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "runner"}, Spec: core.PodSpec{
		RestartPolicy: core.RestartPolicyNever,
		Volumes: []core.Volume{{Name: "file",
			VolumeSource: core.VolumeSource{ConfigMap: &core.ConfigMapVolumeSource{LocalObjectReference: core.LocalObjectReference{Name: "file"}}}}},
		Containers: []core.Container{{
			Name: "main", Image: kubernetesImage, Args: append(m.args()[:1], "/in/f.hcl", "--out", "/tmp/out", "--progress", "plain", "--var",
				"namespace="+m.name),
			VolumeMounts: []core.VolumeMount{{Name: "file", MountPath: "/in"}}, Env: []core.EnvVar{{Name: "HOME", Value: "/tmp"}},
		}},
	}}
	pods := m.client.CoreV1().Pods(m.name)
	if _, err := pods.Create(ctx, runner, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	code := -1
	if !within(3*time.Minute, 500*time.Millisecond, func() bool {
		p, err := pods.Get(ctx, "runner", meta.GetOptions{})
		if err != nil || len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Terminated == nil {
			return false
		}
		code = int(p.Status.ContainerStatuses[0].State.Terminated.ExitCode)
		return true
	}) {
		t.Error("the runner's Pod has not ended")
	}
	text, err := pods.GetLogs("runner", &core.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		t.Error(err)
	}
	return string(text), code
}

// checkLoadPod sees that the load of each run came from a node, by the kernel's clock, and that nothing is
// left of what the load generators were given.
func checkLoadPod(t *testing.T, dir string) {
	t.Helper()
	doc := machineOf(t, dir)
	for _, cell := range doc.Benchmarks[0].Cells {
		for _, run := range cell.Runs {
			if at, ok := run.Audit["load_node"].(string); !ok || !strings.HasPrefix(at, "k") || run.Audit["clock"] != "kernel" {
				t.Errorf("load from %v by clock %v", run.Audit["load_node"], run.Audit["clock"])
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "out", "files", "load-*")); len(left) > 0 || err != nil {
		t.Errorf("of load generators is left %q, %v", left, err)
	}
}

// kubernetesTimes is how often each case runs: once, or PIPELINE_KUBERNETES_TIMES.
func kubernetesTimes(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PIPELINE_KUBERNETES_TIMES")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PIPELINE_KUBERNETES_TIMES = %q is not a number of rounds", text)
	}
	return n
}
