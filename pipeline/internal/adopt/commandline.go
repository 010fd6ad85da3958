package adopt

import (
	"fmt"
	"strings"
)

// commandLine is a command line or a shell script: a server that it starts, and the client that loads it.
var commandLine = form{
	name: "command", title: "a command line",
	matches: func(s *source) bool {
		return s.starts(func(words []string) bool { e, _ := serving(words); return e != nil || client(words) > 0 })
	},
	read: func(d *Definition, s *source) error {
		all, err := commands(string(s.Data), d.unset)
		if err != nil {
			return err
		}
		return d.runs(all)
	},
}

// starts reports whether a source is a shell script with a command of a certain kind.
func (s *source) starts(of func(words []string) bool) bool {
	all, err := s.script()
	if err != nil {
		return strings.Contains(string(s.Data), "serve") // to report the error
	}
	for _, c := range all {
		if words, _ := unwrap(c.words); of(words) {
			return true
		}
	}
	return false
}

// unwrap returns the words of a program that a launcher starts without changing them.
func unwrap(words []string) (inner []string, env []setting) {
	for len(words) > 0 {
		switch name, value, isSetting := strings.Cut(words[0], "="); {
		case words[0] == "env" || words[0] == "sudo" || words[0] == "nohup":
			words = words[1:]
		case isSetting && assignment.MatchString(words[0]):
			env = append(env, setting{name, value})
			words = words[1:]
		default:
			return words, env
		}
	}
	return words, env
}

// runs reads the commands of a script: servers and clients. The others are left.
func (d *Definition) runs(all []command) error {
	var failed error
	for _, c := range all {
		words, more := unwrap(c.words)
		c.env = append(c.env, more...)
		switch e, _ := serving(words); {
		case sweepWords(words) > 0:
			failed = d.sweep(words)
		case isDockerRun(words):
			failed = d.dockerRun(c, words)
		case e != nil:
			s := &server{name: "sut"}
			for _, v := range c.env {
				d.environment(s, v.name, v.value)
			}
			if failed = d.read(s, words); failed == nil {
				s.redirected(c)
				d.addServer(s)
			}
		case client(words) > 0:
			d.client(words[client(words):])
		default:
			d.leave(c.text(), "only commands that start a server or load it are read")
		}
		if failed != nil {
			return failed
		}
	}
	if len(d.servers) == 0 && len(d.benchmarks) == 0 {
		return fmt.Errorf("starts no server that is known")
	}
	return nil
}

func (s *server) redirected(c command) {
	for _, r := range c.redirected {
		s.leave(dollars(r), "every log is kept in the run's directory")
	}
}
