// Command kubernetes is the API server, the controller manager, the scheduler and the
// kubelet of Kubernetes in one program, for tests: its first argument says which. One
// program is linked once, and its parts share most of their code.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	command := component(os.Args)
	if command == nil {
		fmt.Fprintln(os.Stderr, "usage: kubernetes kube-apiserver|kube-controller-manager|kube-scheduler|kubelet [flags]")
		os.Exit(64)
	}
	// The components read os.Args themselves.
	os.Args = os.Args[1:]
	os.Exit(cli.Run(command))
}

// component is the command that the first argument names; nil if there is none.
func component(args []string) *cobra.Command {
	if len(args) < 2 {
		return nil
	}
	switch args[1] {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllers.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	}
	return nil
}
