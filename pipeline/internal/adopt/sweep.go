package adopt

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// sweep is vllm bench sweep serve: a server for each of --serve-params, with a benchmark for each of --bench-params.
var sweep = form{
	name: "sweep", title: "a sweep of vllm bench",
	matches: func(s *source) bool { return s.starts(func(words []string) bool { return sweepWords(words) > 0 }) },
	read:    commandLine.read,
}

// sweepWords returns the number of words of the sweep's program, 0 for another one.
func sweepWords(words []string) int {
	for i, w := range words {
		if path.Base(w) != "vllm" || i+3 >= len(words) {
			continue
		}
		if words[i+1] == "bench" && words[i+2] == "sweep" && strings.HasPrefix(words[i+3], "serve") {
			return i + 4
		}
	}
	return 0
}

var sweepReasons = map[string]string{
	"num_runs": "repeats are launches: see repeat", "output_dir": "see --out", "o": "see --out", "experiment_name": "see --out",
	"dry_run": "see plan --launch", "resume": "see run --resume", "after_bench_cmd": "caches are reset between runs",
	"sla_params": "see search of a load, and docs/capacity.md", "sla_variable": "see search of a load, and docs/capacity.md",
	"show_stdout": "every log is kept in the run's directory",
}

func (d *Definition) sweep(words []string) error {
	f := &fields{m: flagPairs(words[sweepWords(words):])}
	serve, err := wordsIn(textOf(f.take("serve_cmd")), d)
	if err != nil {
		return fmt.Errorf("--serve-cmd %w", err)
	}
	bench, err := wordsIn(textOf(f.take("bench_cmd")), d)
	if err != nil {
		return fmt.Errorf("--bench-cmd %w", err)
	}
	servers, err := d.combinations(textOf(f.take("serve_params")))
	if err != nil {
		return err
	}
	loads, err := d.combinations(textOf(f.take("bench_params")))
	if err != nil {
		return err
	}
	f.rest(sweepReasons, d.leave)
	for _, s := range servers {
		sv := &server{name: cmp.Or(s.name, "server")}
		if err := d.read(sv, override(serve, s.parameters)); err != nil {
			return err
		}
		sv = d.addServer(sv)
		for _, l := range loads {
			b := &benchmark{name: strings.Trim(s.name+"_"+cmp.Or(l.name, "load"), "_"), server: sv}
			parameters := flagPairs(bench[client(bench):])
			for _, p := range l.parameters {
				parameters = set(parameters, strings.ReplaceAll(p.Name, "-", "_"), p.Value)
			}
			if d.workload(b, parameters) {
				d.addBenchmark(b)
			}
		}
	}
	return nil
}

// override returns a command line with parameters in place of its flags of the same names.
func override(words []string, parameters hclfile.Map) []string {
	out := slices.Clone(words)
	for _, p := range parameters {
		flag := flagWords(p)
		if len(flag) == 0 {
			continue
		}
		for i := 0; i < len(out); {
			end := i + 1
			name, _, inline := strings.Cut(out[i], "=")
			if !strings.HasPrefix(name, "-") || argument(name) != argument(flag[0]) {
				i++
				continue
			}
			for !inline && end < len(out) && !flagWord.MatchString(out[end]) {
				end++
			}
			out = slices.Delete(out, i, end)
		}
		out = append(out, flag...)
	}
	return out
}

// combination is one of the parameter combinations of a sweep.
type combination struct {
	name       string
	parameters hclfile.Map
}

// combinations reads a file of parameters: a list of objects, or objects by name. No file means one without parameters.
func (d *Definition) combinations(file string) ([]combination, error) {
	if file == "" {
		return []combination{{}}, nil
	}
	data, err := d.open(file)
	if err != nil {
		return nil, err
	}
	read, err := documents(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []combination
	s := source{documents: read}
	named, _ := s.first().(hclfile.Map)
	for _, p := range named {
		m, _ := p.Value.(hclfile.Map)
		out = append(out, combination{identifier(p.Name), m})
	}
	for _, v := range listOf(s.first()) {
		m, _ := v.(hclfile.Map)
		out = append(out, combination{nameOf(m), m})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has neither a list of objects nor objects by name", file)
	}
	return out, nil
}

// nameOf names a combination by its values, with short names of its parameters.
func nameOf(m hclfile.Map) string {
	var parts []string
	for _, p := range m {
		var short strings.Builder
		for word := range strings.FieldsFuncSeq(p.Name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
			short.WriteString(word[:1])
		}
		parts = append(parts, short.String()+textOf(p.Value))
	}
	return identifier(strings.Join(parts, "_"))
}

// wordsIn returns the words of the only command in a line.
func wordsIn(line string, d *Definition) ([]string, error) {
	all, err := commands(line, d.unset)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%q is not one command", line)
	}
	return all[0].words, nil
}
