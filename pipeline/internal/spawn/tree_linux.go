package spawn

import (
	"os"
	"strings"
)

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

// alive reports whether the process with this number and start time still runs.
func (all processes) alive(pid int, start uint64) bool {
	p, ok := all[pid]
	return ok && p.start == start && !p.ended()
}

// members returns the running processes of a group.
func (all processes) members(group int) []process {
	var out []process
	for _, p := range all {
		if p.group == group && !p.ended() {
			out = append(out, p)
		}
	}
	return out
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

// marked returns the owners of processes with a mark. It ignores marks in other PID namespaces, which refer to
// unknown processes.
func (all processes) marked() map[int]string {
	place := ownerPlace()
	_, namespace, _ := strings.Cut(place, "/")
	out := map[int]string{}
	for pid, p := range all {
		if p.ended() {
			continue
		}
		mark := markOf(pid)
		if _, _, ok := parseMark(mark); !ok {
			continue
		}
		if other, err := os.Readlink(procDir(pid) + "/ns/pid"); err == nil && other != namespace {
			continue
		}
		out[pid] = place + "/" + mark
	}
	return out
}

// recorded returns the owners of the recorded processes.
func (all processes) recorded() map[int]string {
	out := map[int]string{}
	for _, r := range readRecords() {
		for _, e := range r.entries {
			for _, p := range all.named(e, r.seen) {
				out[p.pid] = r.owner
			}
		}
	}
	return out
}

// named returns the running processes that an entry of a record identifies.
//
// A process number may be reused, so the start time distinguishes processes. A group keeps its number while it
// has members, and the owner removes the entry before the number can be reused. So a group without its leader
// is the recorded one if a member started before the owner was last seen; a later group has only later members.
func (all processes) named(e entry, seen uint64) []process {
	if !e.group {
		if all.alive(e.pid, e.start) {
			return []process{all[e.pid]}
		}
		return nil
	}
	members := all.members(e.pid)
	if leader, ok := all[e.pid]; ok {
		if leader.start != e.start {
			return nil
		}
		return members
	}
	for _, p := range members {
		if p.start >= e.start && p.start <= seen {
			return members
		}
	}
	return nil
}
