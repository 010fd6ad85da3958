package adopt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommands(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   string // a line a command: exported variables, then words between bars
		err    string
	}{
		"quotes":                   {script: `a 'b c' "d e" f\ g ""`, want: "a|b c|d e|f g|"},
		"continued":                {script: "a \\\n  --b 1 \\\n  --c\n", want: "a|--b|1|--c"},
		"comment":                  {script: "# first\na b # rest\nc#d", want: "a|b\nc#d"},
		"json":                     {script: `a --j '{"k":"v $X"}' --i "{\"k\": 1}"`, want: `a|--j|{"k":"v $X"}|--i|{"k": 1}`},
		"variables":                {script: "M=x/y\nN=\"a b\"\nrun $M ${M}-z $N \"$N\"", want: "run|x/y|x/y-z|a|b|a b"},
		"fallback":                 {script: `run ${PORT:-8000} ${TP-2}`, want: "run|<PORT:8000>|<TP:2>"},
		"unset":                    {script: `run --model $MODEL`, want: "run|--model|<MODEL>"},
		"environment":              {script: "export A=1 B=2\nC=3 run x", want: "A=1 B=2 C=3 run|x"},
		"exported":                 {script: "A=1\nexport A\nrun", want: "A=1 run"},
		"list":                     {script: "a && b || c; d | e &", want: "a\nb\nc\nd\ne"},
		"redirected":               {script: "a b > log 2>&1 &\nc", want: "a|b\nc"},
		"array":                    {script: "ARGS=(\n --a 1 # one\n --b\n)\nARGS+=(--c)\nrun \"${ARGS[@]}\" z", want: "run|--a|1|--b|--c|z"},
		"beside":                   {script: "A=(1 2)\nB=()\nrun \"x${A[@]}y\" \"z${B[@]}\" \"${B[@]}\" \"${A[@]}\"", want: "run|x1|2y|z|1|2"},
		"overwritten":              {script: "a >| log b", want: "a|b"},
		"group":                    {script: "(a b)& c", want: "a|b\nc"},
		"positional":               {script: "run $1$2 $é", want: "run|<1><2>|$é"},
		"document":                 {script: "cat > f <<EOF\nvllm serve x\nEOF\nrun", want: "cat\nrun"},
		"a document of a variable": {script: "X=$(cat <<A\nit's\nA\n)\nrun --x", want: "run|--x"},
		"keywords":                 {script: "if true; then exec run x; fi", want: "if|true\nrun|x"},
		"substituted":              {script: "run $(hostname) x\"`date +%s`\"", want: "run|<$(hostname)>|x<$(date +%s)>"},
		"nested":                   {script: `run "$(a "$(b ')')" | c)" $((2*(N+1)))`, want: `run|<$(a "$(b ')')" | c)>|<$((2*(N+1)))>`},
		"half":                     {script: "run $(hostname", err: "is not closed"},
		"remarked":                 {script: "run --a 1 \\ # why\n --b 2 \\  \n --c", want: "run|--a|1|--b|2|--c"},
		"open":                     {script: "run 'x", err: "is not closed"},
		"operation":                {script: "run ${X##*/}", want: "run|<${X##*/}>"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := commands(tt.script, func(name string, fallback *string) string {
				if fallback != nil {
					name += ":" + *fallback
				}
				return "<" + name + ">"
			})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, c := range got {
				line := ""
				for _, e := range c.env {
					line += e.name + "=" + e.value + " "
				}
				lines = append(lines, line+strings.Join(c.words, "|"))
			}
			if diff := cmp.Diff(tt.want, strings.Join(lines, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHereDocuments(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   []string
	}{
		"two":              {script: "cat <<EOF > a\nx: 'it\n  y\nEOF\ncat <<-'END'|sh\nz\nEND\n", want: []string{"x: 'it\n  y\n", "z\n"}},
		"joined":           {script: "cat <<EOF>a\nx\nEOF\n", want: []string{"x\n"}},
		"one line":         {script: "cat <<A <<B\nx\nA\ny\nB\n", want: []string{"x\n", "y\n"}},
		"text of it":       {script: "echo '<<EOF'\nx\nEOF\n# <<EOF\ny\nEOF\nz <<<EOF\nEOF\n"},
		"within":           {script: "x=\"$(cat <<EOF\nx\nEOF\n)\"\n", want: []string{"x\n"}},
		"not closed":       {script: "cat <<A\nx\nA\necho 'y\n", want: []string{"x\n"}},
		"tabs":             {script: "cat <<-A <<B\n\tx:\n\t  y\n\tA\n\tz\nB\n", want: []string{"x:\n  y\n", "\tz\n"}},
		"an indented word": {script: "cat <<A\nx\n  A\ny\nA\n", want: []string{"x\n  A\ny\n"}},
		"indented":         {script: "  cat <<A\n  x\n  A\n  cat <<B\n  y\n  B\n", want: []string{"  x\n", "  y\n"}},
		"quoted":           {script: "cat <<'END OF \"IT' <<\\A <<B\"C\"\nx\nEND OF \"IT\ny\nA\nz\nBC\n", want: []string{"x\n", "y\n", "z\n"}},
		"an apostrophe within": {script: "x=\"$(cat <<A | tr a b\nit's (\n$(\nA\necho '(' \\\" # it's\n)\"\ncat <<B\ny\nB\n",
			want: []string{"it's (\n$(\n", "y\n"}},
		"nested": {script: "x=$(echo $(cat <<A\n)\nA\n) $(cat <<B\ny\nB\n))\n", want: []string{")\n", "y\n"}},
		"shifts": {script: "x=$((1 << 2)) y=$(( (1<<3) ))\ncat <<A\nx\nA\n", want: []string{"x\n"}},
		"deep":   {script: strings.Repeat("$(", 1<<16) + "\n"},
		"no end": {script: "cat <<A\nx\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hereDocuments(tt.script); !cmp.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
