package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/servegate/pipeline/steps"
)

// Launcher starts servers on one node.
type Launcher struct {
	run  *Run
	node int
}

var _ steps.Launcher = (*Launcher)(nil)

// Launcher starts servers on a node, by its number.
func (r *Run) Launcher(node int) *Launcher { return &Launcher{r, node} }

// Capabilities implements steps.Launcher.
func (l *Launcher) Capabilities() steps.LauncherCapabilities {
	return steps.LauncherCapabilities{Prepare: l.Prepare}
}

func check(p steps.Process) error {
	switch {
	case p.Container == nil || p.Container.Image == "":
		return errors.New("it has no image and cannot run as a Pod")
	case p.Port <= 0 || p.Port > 65535:
		return fmt.Errorf("port %d is not a port; take one with process.Ports", p.Port)
	case len(p.Argv) == 0 && !p.Container.OwnEntrypoint:
		return errors.New("it has no command line")
	}
	if signal, _ := p.Stopping(); signal != "TERM" {
		return fmt.Errorf("it ends on SIG%s, and a Pod gets SIGTERM alone", signal)
	}
	return Containers().Err(p.Container)
}

// Prepare pulls the image of p on the node.
func (l *Launcher) Prepare(ctx context.Context, p steps.Process) error {
	if err := check(p); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	if _, err := l.run.prepare(ctx, l.node, p.Container); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// Start runs p as a Pod; its output goes to log from the first byte. It returns once its container runs or
// has ended. If it fails or ctx ends, it removes all that it created.
func (l *Launcher) Start(ctx context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	s, err := l.start(ctx, p, log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return s, nil
}

func (l *Launcher) start(ctx context.Context, p steps.Process, log io.Writer) (*Server, error) {
	if err := check(p); err != nil {
		return nil, err
	}
	r := l.run
	image, err := r.prepare(ctx, l.node, p.Container)
	if err != nil {
		return nil, err
	}
	held, err := r.keep(ctx, p)
	if err != nil {
		return nil, err
	}
	pod, err := r.podOf(p, r.nodes[l.node], held)
	if err == nil {
		err = r.create(ctx, pod)
	}
	if err != nil {
		return nil, errors.Join(err, r.deleteSecret(context.WithoutCancel(ctx), held))
	}
	now, err := r.awaitPod(ctx, pod.Name, running)
	if err != nil {
		return nil, errors.Join(err, r.discard(ctx, pod.Name, held))
	}
	s := &Server{run: r, node: l.node, process: p, image: image, pod: now, held: held, done: make(chan struct{})}
	s.altered = altered(mainOf(pod).Resources, mainOf(now).Resources)
	r.tellAltered(p.Name, s.altered)
	if err := s.reach(ctx); err != nil {
		return nil, errors.Join(err, r.discard(ctx, pod.Name, held))
	}
	s.watch(log)
	return s, nil
}

// keep makes the secret of a process and returns its name, "" where it has none.
func (r *Run) keep(ctx context.Context, p steps.Process) (string, error) {
	secret, err := r.secretOf(p)
	if err != nil || secret == nil {
		return "", err
	}
	err = r.ask(ctx, func(ctx context.Context) error {
		_, err := r.client.Secrets(r.namespace).Create(ctx, secret, meta.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // its name is ours alone
		}
		return err
	})
	return secret.Name, refusal(err)
}
