package spawn

import "os"

// processes holds the processes of the machine by process ID.
type processes map[int]process

func listProcesses() processes {
	all := processes{}
	eachProcess(func(p process) bool {
		all[p.pid] = p
		return true
	})
	return all
}

// family returns the processes of instances of this program, with their owners. It starts with the processes of
// known owners. It adds the children of each, the members of groups that it leads or whose leader has ended,
// and the session that it leads. It therefore finds processes that changed their title and environment. It
// excludes this program, its ancestors and its group.
func (all processes) family(known map[int]string) map[int]string {
	above := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !above[pid]; pid = all[pid].parent {
		above[pid] = true
	}
	children, groups, sessions := map[int][]process{}, map[int][]process{}, map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
		groups[p.group] = append(groups[p.group], p)
		sessions[p.session] = append(sessions[p.session], p)
	}
	out := map[int]string{}
	var next []process
	add := func(owner string, list ...process) {
		for _, p := range list {
			if _, dup := out[p.pid]; !dup && !p.ended() && !above[p.pid] {
				out[p.pid] = owner
				next = append(next, p)
			}
		}
	}
	for pid, owner := range known {
		if p, ok := all[pid]; ok {
			add(owner, p)
		}
	}
	for len(next) > 0 {
		p := next[len(next)-1]
		next = next[:len(next)-1]
		owner := out[p.pid]
		add(owner, children[p.pid]...)
		leader, led := all[p.group]
		if p.group != all[os.Getpid()].group && (p.group == p.pid || !led || leader.ended()) {
			add(owner, groups[p.group]...)
		}
		if p.session == p.pid {
			add(owner, sessions[p.session]...)
		}
	}
	return out
}

// marked returns the owners of processes with a mark of this PID namespace. A mark of another refers to an unknown
// process.
func (all processes) marked() map[int]string {
	place, space := ownerPlace(), spaceOf("self")
	out := map[int]string{}
	for pid, p := range all {
		if mark := markOf(pid, space); mark != "" && !p.ended() {
			out[pid] = place + "/" + mark
		}
	}
	return out
}
