package spawn_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
)

func TestOwner(t *testing.T) {
	own := spawn.Owner()
	if own == "" || spawn.Owner() != own {
		t.Fatalf("owner %q, then %q", own, spawn.Owner())
	}
	if spawn.Gone(own) {
		t.Error("we are gone")
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	place := own[:strings.LastIndexByte(own, '/')+1]
	for owner, gone := range map[string]bool{
		place + strconv.Itoa(ended.Process.Pid) + ":1": true,
		strings.Replace(own, ":", ":1", 1):             false, // another namespace
		"other-boot/pid:[1]/" + own[len(place):]:       false,
		place + "x":                                    false,
		place:                                          false,
		"":                                             false,
	} {
		if spawn.Gone(owner) != gone {
			t.Errorf("%q is gone: %v, want %v", owner, !gone, gone)
		}
	}
	if !spawn.Gone(own + "1") {
		t.Error("a process with our number and another start is we")
	}
}
