package steps

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ContainerArg is an argument of a server that runs in a container: a row of the table of container
// capabilities. Each place has a column, [ContainerSupport].
type ContainerArg struct {
	// Name in the container block, or of the server's own argument.
	Name string
	// Set reports whether a container has the argument.
	Set func(*ContainerSpec) bool
}

// ContainerArgs returns the rows of the table: image, and all arguments of the container block.
func ContainerArgs() []ContainerArg {
	return slices.Concat(containerPrograms, containerResources, containerDevices)
}

var containerPrograms = []ContainerArg{
	{"image", func(c *ContainerSpec) bool { return c.Image != "" }},
	{"entrypoint", func(c *ContainerSpec) bool { return len(c.Entrypoint) > 0 }},
	{"pull", func(c *ContainerSpec) bool { return c.Pull != "" }},
	{"platform", func(c *ContainerSpec) bool { return c.Platform != "" }},
	{"workdir", func(c *ContainerSpec) bool { return c.Workdir != "" }},
	{"user", func(c *ContainerSpec) bool { return c.User != "" }},
	{"init", func(c *ContainerSpec) bool { return c.NoInit }},
	{"labels", func(c *ContainerSpec) bool { return len(c.Labels) > 0 }},
}

var containerResources = []ContainerArg{
	{"network", func(c *ContainerSpec) bool { return c.Network != "" }},
	{"ipc", func(c *ContainerSpec) bool { return c.IPC != "" }},
	{"pid", func(c *ContainerSpec) bool { return c.PID != "" }},
	{"shm_size", func(c *ContainerSpec) bool { return c.ShmSize != 0 }},
	{"memory", func(c *ContainerSpec) bool { return c.Memory != 0 }},
	{"resources", func(c *ContainerSpec) bool { return len(c.Resources) > 0 }},
	{"requests", func(c *ContainerSpec) bool { return len(c.Requests) > 0 }},
	{"cpuset", func(c *ContainerSpec) bool { return c.CPUSet != "" }},
	{"memset", func(c *ContainerSpec) bool { return c.MemSet != "" }},
	{"ulimits", func(c *ContainerSpec) bool { return len(c.Ulimits) > 0 }},
	{"cap_add", func(c *ContainerSpec) bool { return len(c.CapAdd) > 0 }},
	{"cap_drop", func(c *ContainerSpec) bool { return len(c.CapDrop) > 0 }},
	{"security_opt", func(c *ContainerSpec) bool { return len(c.SecurityOpt) > 0 }},
	{"group_add", func(c *ContainerSpec) bool { return len(c.GroupAdd) > 0 }},
	{"privileged", func(c *ContainerSpec) bool { return c.Privileged }},
}

var containerDevices = []ContainerArg{
	{"gpus", func(c *ContainerSpec) bool { return c.GPUs != nil }},
	{"devices", func(c *ContainerSpec) bool { return len(c.Devices)+len(c.CDI) > 0 }},
	{"runtime", func(c *ContainerSpec) bool { return c.Runtime != "" }},
	{"mounts", func(c *ContainerSpec) bool { return len(c.Mounts) > 0 }},
	{"volumes", func(c *ContainerSpec) bool { return len(c.Volumes) > 0 }},
	{"tmpfs", func(c *ContainerSpec) bool { return len(c.Tmpfs) > 0 }},
}

// ContainerSupport holds what one place does with each argument of a container: a column of the table of
// container capabilities.
type ContainerSupport struct {
	// Place is the name of the place, with the runtime that starts its images if it has several.
	Place string
	// Args holds what the place does with each of [ContainerArgs].
	Args map[string]ContainerUse
	// Every, if not "", describes in a sentence what the place does with all arguments; Args is then nil.
	Every string
}

// ContainerUse describes the treatment of one argument by a place. [Carried], [CarriedExcept] and [NotCarried] make it.
type ContainerUse struct {
	// As is what the argument becomes, such as an option of a command; "" means that the place refuses it.
	As string
	// Refuse returns what the place does not support of a container, as phrases; nil accepts all values.
	Refuse func(*ContainerSpec) []string
	// Advice tells what to write instead of a refused argument.
	Advice string
}

// Carried returns a use that accepts all values.
func Carried(as string) ContainerUse { return ContainerUse{As: as} }

// CarriedExcept returns a use that accepts the values for which refuse returns nothing.
func CarriedExcept(as string, refuse func(*ContainerSpec) []string, advice string) ContainerUse {
	return ContainerUse{As: as, Refuse: refuse, Advice: advice}
}

// NotCarried returns a use that accepts no value.
func NotCarried(advice string) ContainerUse { return ContainerUse{Advice: advice} }

// ContainerError reports what a place does not support of a container. Place and Arg identify it to programs.
type ContainerError struct {
	Place, Arg string
	// What is not supported, as a phrase: the argument, or one of its values.
	What, Advice string
}

// Error names the place and what it does not support, and says what to write instead.
func (e *ContainerError) Error() string {
	return fmt.Sprintf("%s does not support %s; %s", e.Place, e.What, e.Advice)
}

// Check returns what the place does not support of a container, in the order of the table.
func (s ContainerSupport) Check(c *ContainerSpec) []*ContainerError {
	var found []*ContainerError
	for _, a := range ContainerArgs() {
		use := s.Args[a.Name]
		var what []string
		switch {
		case use.Refuse != nil:
			what = use.Refuse(c)
		case use.As == "" && s.Every == "" && a.Set(c):
			what = []string{a.path()}
		}
		for _, w := range what {
			found = append(found, &ContainerError{Place: s.Place, Arg: a.Name, What: w, Advice: use.Advice})
		}
	}
	return found
}

// Err returns the same as Check as one error, nil if the place supports the container.
func (s ContainerSupport) Err(c *ContainerSpec) error {
	var all []error
	for _, e := range s.Check(c) {
		all = append(all, e)
	}
	return errors.Join(all...)
}

// Unstated returns the arguments of which the column does not state what the place does with them, and those that
// it states although no container has them.
func (s ContainerSupport) Unstated() []string {
	var out []string
	args := ContainerArgs()
	for _, a := range args {
		if use := s.Args[a.Name]; s.Every == "" && use.As == "" && use.Advice == "" {
			out = append(out, a.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Args)) {
		if s.Every != "" || !slices.ContainsFunc(args, func(a ContainerArg) bool { return a.Name == name }) {
			out = append(out, name)
		}
	}
	return out
}

// path returns the argument as a file writes it. The image is an argument of the server.
func (a ContainerArg) path() string {
	if a.Name == "image" {
		return a.Name
	}
	return "container." + a.Name
}

// ValueExcept returns a function for [CarriedExcept] that refuses the values of a text argument other than those
// given and "".
func ValueExcept(name string, value func(*ContainerSpec) string, accepted ...string) func(*ContainerSpec) []string {
	return func(c *ContainerSpec) []string {
		if v := value(c); v != "" && !slices.Contains(accepted, v) {
			return []string{fmt.Sprintf("container.%s = %q", name, v)}
		}
		return nil
	}
}
