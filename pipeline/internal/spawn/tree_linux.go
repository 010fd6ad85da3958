package spawn

import (
	"os"
	"strings"
)

// processes holds the processes of the machine, by process id.
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

// members returns the processes of a group that run.
func (all processes) members(group int) []process {
	var out []process
	for _, p := range all {
		if p.group == group && !p.ended() {
			out = append(out, p)
		}
	}
	return out
}

// family returns the processes that belong to programs of ours, with their owners. It begins with
// those whose owner is known and adds the children of each, the group that it leads or whose
// leader has ended, and the session that it leads. A process that has rewritten its title and its
// environment is found so. This program, those above it and its group are left out.
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

// marked returns the owners of the processes that carry a mark of ours. A mark in another PID
// namespace means a process there, of which nothing is known here.
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

// recorded returns the owners of the processes that the records of programs name.
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

// named returns the processes that an entry of a record names.
//
// A number can be given to another process once its own has ended, and the start time tells the
// two apart. A group keeps its number as long as it has members, and the owner removes its entry
// before the number is free: so a group that has lost its leader is the recorded one if a member
// was started before the owner was last seen. A later group has later members only.
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
