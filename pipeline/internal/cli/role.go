package cli

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/steps/kubernetes"
)

// roleFile is the name of the file with the rights of a run in a namespace of a cluster.
const roleFile = "pipeline-role.yaml"

// writeRole writes the Role and prints its path.
func (a *app) writeRole(dir string) error {
	return a.writeInto(dir, roleFile, []byte(roleText(kubernetes.Rights())))
}

// roleText returns a Role with the given rights, and a binding whose service account the user must change.
func roleText(rights []kubernetes.Right) string {
	var b strings.Builder
	b.WriteString("# What a run of pipeline needs in its namespace, and nothing beyond it:\n#\n#   kubectl apply --namespace NAMESPACE -f " +
		roleFile + "\n")
	b.WriteString("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: pipeline\nrules:\n")
	for _, r := range rights {
		fmt.Fprintf(&b, "  - apiGroups: [%q] # %s\n    resources: [%q]\n    verbs: [%s]\n", r.Group, r.Why, r.Resource,
			strings.Join(r.Verbs, ", "))
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
