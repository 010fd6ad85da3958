package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// childVar makes this test program the process that is protected: it says so, and then has
// a program of its own look at it.
const childVar = "WITHHOLD_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		protected(os.Stdout)
		return
	}
	m.Run()
}

func protected(out io.Writer) {
	value := os.Getenv("GITHUB_TOKEN")
	fmt.Fprintln(out, "forget:", forgetEnvironment())
	fmt.Fprintln(out, "close:", closeProcess())
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	fmt.Fprintln(out, "dumpable:", dumpable, err)
	fmt.Fprintln(out, "still known:", os.Getenv("GITHUB_TOKEN") == value && value != "")
	// Root may read what others may not: the block itself must be empty.
	look := exec.Command("sh", "-c", `tr '\0' '\n' < /proc/$PPID/environ || echo refused; readlink /proc/$PPID/ns/pid > /dev/null; echo done`)
	look.Env = []string{"PATH=" + os.Getenv("PATH")}
	look.Stdout = out
	if err := look.Run(); err != nil {
		fmt.Fprintln(out, err)
	}
	// What this program itself reads stays readable.
	for _, path := range []string{"/proc/self/stat", "/proc/self/cgroup"} {
		if _, err := os.ReadFile(path); err != nil {
			fmt.Fprintln(out, "unreadable:", err)
		}
	}
	for _, path := range []string{"/proc/self/exe", "/proc/self/ns/pid"} {
		if _, err := os.Readlink(path); err != nil {
			fmt.Fprintln(out, "unreadable:", err)
		}
	}
}

// TestAChildDoesNotReadTheEnvironment: a program that is started finds no secret of its
// parent, neither by the name of a variable nor within an address.
func TestAChildDoesNotReadTheEnvironment(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const token, password = "ghs_1234567890abcdef", "s3cretpw"
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVar+"=1", "GITHUB_TOKEN="+token, "HTTPS_PROXY=http://u:"+password+"@proxy:3128", "KEPT=plain")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := string(out)
	for _, want := range []string{"forget: <nil>", "close: <nil>", "dumpable: 0 <nil>", "still known: true", "done"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, token) || strings.Contains(got, password) || strings.Contains(got, "unreadable") {
		t.Errorf("a child read:\n%s", got)
	}
	if os.Getuid() != 0 && strings.Contains(got, "KEPT=plain") {
		t.Error("a child of the same user read the environment")
	}
}
