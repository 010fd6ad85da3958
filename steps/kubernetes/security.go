package kubernetes

import (
	"strconv"
	"strings"

	core "k8s.io/api/core/v1"

	"github.com/servegate/pipeline/steps"
)

// ownUser is the user ID of this program in its own Pods, an ID without an account on images and nodes.
const ownUser = 65532

// confine restricts a Pod of this program to the level "restricted" of the Pod Security Standards: namespaces
// of many clusters reject others.
func confine(pod *core.PodSpec) {
	pod.SecurityContext = &core.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(ownUser)), RunAsGroup: new(int64(ownUser)),
		SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault},
	}
	for i := range pod.Containers {
		pod.Containers[i].SecurityContext = &core.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}},
		}
	}
}

// security returns the security context of a server's container, nil for the cluster's default. [Containers]
// refuses what it does not understand.
func security(c *steps.ContainerSpec) *core.SecurityContext {
	if !c.Privileged && len(c.CapAdd)+len(c.CapDrop)+len(c.SecurityOpt) == 0 && c.User == "" {
		return nil
	}
	var s core.SecurityContext
	if c.Privileged {
		s.Privileged = new(true)
	}
	if len(c.CapAdd)+len(c.CapDrop) > 0 {
		s.Capabilities = &core.Capabilities{Add: capabilities(c.CapAdd), Drop: capabilities(c.CapDrop)}
	}
	if c.User != "" {
		runAs(&s, c.User)
	}
	for _, o := range c.SecurityOpt {
		securityOptions[normalOption(o)](&s)
	}
	return &s
}

// securityOptions maps Docker's security options to those of a Pod.
var securityOptions = map[string]func(*core.SecurityContext){
	"no-new-privileges":      noNewPrivileges,
	"no-new-privileges=true": noNewPrivileges,
	"seccomp=builtin": func(s *core.SecurityContext) {
		s.SeccompProfile = &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault}
	},
	"seccomp=unconfined": func(s *core.SecurityContext) {
		s.SeccompProfile = &core.SeccompProfile{Type: core.SeccompProfileTypeUnconfined}
	},
}

func noNewPrivileges(s *core.SecurityContext) { s.AllowPrivilegeEscalation = new(false) }

// runAs sets the user from a number, or two separated by a colon. It returns false for names, which a Pod does not
// accept.
func runAs(s *core.SecurityContext, text string) bool {
	user, group, two := strings.Cut(text, ":")
	uid, err := strconv.ParseInt(user, 10, 64)
	gid, groupErr := int64(0), error(nil)
	if two {
		gid, groupErr = strconv.ParseInt(group, 10, 64)
		s.RunAsGroup = &gid
	}
	if err != nil || groupErr != nil {
		return false
	}
	s.RunAsUser = &uid
	if uid != 0 {
		s.RunAsNonRoot = new(true)
	}
	return true
}

func capabilities(names []string) []core.Capability {
	var out []core.Capability
	for _, n := range names {
		out = append(out, core.Capability(n))
	}
	return out
}

func groupID(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// groups parses the IDs of groups, of which [Containers] refuses names.
func groups(texts []string) []int64 {
	var out []int64
	for _, t := range texts {
		n, _ := groupID(t)
		out = append(out, n)
	}
	return out
}
