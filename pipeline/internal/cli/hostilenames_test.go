package cli_test

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode"
)

// hostileNames are names of cells that mean something to a terminal, a markup, a spreadsheet or LaTeX, or that are alike
// for 5,000 letters. The second last has composed and combining characters.
var hostileNames = []string{
	"<script>alert(1)</script>", "a|b\n::error::x\n# H1", "\x1b[31mred\x1b]0;t\a\u009b31m", "\u202egnp.exe\u2066rtl",
	"![i](https://e/x.png) `c` &lt; \"q\" ' <b>", "=HYPERLINK(\"http://e\")", "\u2028ls\u2029ps", "$\\input{/etc/passwd}$ % \\end{table}",
	strings.Repeat("na\u0300\u0301\u0302", 300), strings.Repeat("x", 5000), strings.Repeat("x", 5000) + "y",
}

// TestHostileNames: a table of results with any names is tested whole, and no format of the verdict passes on what a name
// tells a program that shows it.
func TestHostileNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for side, ttft := range map[string]float64{"base": 100, "head": 120} {
		for k := range 5 {
			var file bytes.Buffer
			w := csv.NewWriter(&file)
			rows := [][]string{{"Scenario", "Model", "Successful requests", "Failed requests", "Mean TTFT (ms)"}}
			for _, name := range hostileNames {
				rows = append(rows, []string{name, "<i>\x1b[2J", "100", "0", fmt.Sprint(ttft + float64(k))})
			}
			if err := errors.Join(w.WriteAll(rows), os.WriteFile(fmt.Sprintf("%s-%d.csv", side, k), file.Bytes(), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for format, breaks := range map[string]string{
		"text": "", "markdown": "", "html": "<script>alert", "svg": "<script", "junit": "<script", "latex": `\input`, "csv": ",=HYP",
	} {
		t.Run(format, func(t *testing.T) {
			// Without a margin the exit status is 0, and the output alone comes back.
			out := run(t, 0, "compare", "--test", "--by", "scenario", "--one-launch-per-file", "--format", format,
				"base-*.csv", "name=<b>\x1b[31m\u202e|y:head-*.csv")
			if breaks != "" && strings.Contains(out, breaks) {
				t.Errorf("%q is in it", breaks)
			}
			for _, r := range out {
				if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u2060' {
					t.Fatalf("%U is in it", r)
				}
			}
			if format == "svg" || format == "junit" {
				wellFormed(t, out)
			}
			verdict := "regression"
			if format == "svg" {
				verdict = "✗"
			}
			if got, want := strings.Count(out, verdict), len(hostileNames); got < want {
				t.Errorf("%d regressions, want %d: %s", got, want, out)
			}
		})
	}
}

// TestHeadThatFailsEverything: a side without a figure is tested by the metrics of the other, so that its failures are found.
func TestHeadThatFailsEverything(t *testing.T) {
	t.Chdir(t.TempDir())
	for side, succeeded := range map[string]int{"base": 100, "head": 0} {
		for k := range 6 {
			row := fmt.Sprintf("a,m,%d,%d,", succeeded, 100-succeeded)
			if succeeded > 0 {
				row += fmt.Sprint(100 + k)
			}
			text := "Scenario,Model,Successful requests,Failed requests,Mean TTFT (ms)\n" + row + "\n"
			if err := os.WriteFile(fmt.Sprintf("%s-%d.csv", side, k), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := run(t, 1, "compare", "--test", "--margin", "5%", "--one-launch-per-file", "base-*.csv", "head-*.csv")
	if !strings.Contains(out, "head fails where base does not") {
		t.Error(out)
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
