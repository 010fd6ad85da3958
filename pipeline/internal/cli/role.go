package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/servegate/pipeline/steps/kubernetes"
)

// roleFile holds the rights of a run in a namespace of a cluster.
const roleFile = "pipeline-role.yaml"

// writeRole writes the Role, and adds its path to those that were written.
func (a *app) writeRole(dir string, written *[]string) error {
	path := filepath.Join(dir, roleFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(roleText(kubernetes.Rights()))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	*written = append(*written, path)
	return nil
}

// roleText is a Role with some rights, and a binding to a service account to change.
func roleText(rights []kubernetes.Right) string {
	var b strings.Builder
	b.WriteString("# What a run of pipeline needs in its namespace, and nothing beyond it:\n#\n#   kubectl apply --namespace NAMESPACE -f " + roleFile + "\n")
	b.WriteString("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: pipeline\nrules:\n")
	for _, r := range rights {
		fmt.Fprintf(&b, "  - apiGroups: [%q] # %s\n    resources: [%q]\n    verbs: [%s]\n", r.Group, r.Why, r.Resource, strings.Join(r.Verbs, ", "))
	}
	b.WriteString(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: pipeline
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: pipeline
subjects:
  # Who runs it: a user, or the service account of the runner's Pods.
  - kind: ServiceAccount
    name: default
`)
	return b.String()
}
