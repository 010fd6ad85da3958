package adopt

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// client returns the number of words of a load generator's program in a command line, 0 for another program.
func client(words []string) int {
	for i, w := range words {
		switch {
		case path.Base(w) == "vllm" && i+2 < len(words) && words[i+1] == "bench" && words[i+2] == "serve":
			return i + 3
		case path.Base(w) == "benchmark_serving.py":
			return i + 1
		case w == "-m" && i+1 < len(words) && words[i+1] == "sglang.bench_serving":
			return i + 2
		}
	}
	return 0
}

// clientSwitches are the flags of the load generators that take no value.
var clientSwitches = strings.Fields(`ignore_eos disable_ignore_eos save_result save_detailed append_result disable_tqdm
	trust_remote_code use_beam_search profile insecure no_stream disable_shuffle no_oversample skip_chat_template skip_tokenizer_init
	plot_timeline plot_dataset_stats disable_stream flush_cache return_logprob apply_chat_template enable_multimodal_chat`)

// client adds the benchmark of a client's command line.
func (d *Definition) client(words []string) {
	b := &benchmark{name: "serving"}
	if d.workload(b, flagPairs(words)) {
		d.addBenchmark(b)
	}
}

// flagPairs returns flags with their values, and words without a flag as elements without a value.
func flagPairs(words []string) hclfile.Map {
	var m hclfile.Map
	for len(words) > 0 {
		name, value, inline := strings.Cut(words[0], "=")
		if words = words[1:]; !strings.HasPrefix(name, "-") {
			m = set(m, name, "")
			continue
		}
		name = argument(name)
		for !inline && !slices.Contains(clientSwitches, name) && len(words) > 0 && !flagWord.MatchString(words[0]) {
			value, words = strings.TrimSpace(value+" "+words[0]), words[1:]
			if name != "goodput" && name != "metadata" && name != "lora_modules" { // the others take one word
				break
			}
		}
		m = set(m, name, value)
	}
	return m
}

// recorded are parameters of clients for what a run records in any case, or finds out itself.
var recorded = strings.Fields(`tokenizer tokenizer_mode host port base_url served_model_name model_tag trust_remote_code
	save_result save_detailed append_result result_dir result_filename output_file output_details percentile_metrics metric_percentiles
	disable_tqdm metadata label ready_check_timeout_sec tag plot_timeline plot_dataset_stats`)

const recordedWhy = "every run finds the server, records all metrics and keeps every request"

// sampling are parameters that become fields of every request.
var sampling = []string{"top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty", "logprobs"}

// workload reads the parameters of vllm bench serve, or of a client with the same ones. It reports false if the requests
// cannot be carried over; then it has left the whole benchmark.
func (d *Definition) workload(b *benchmark, m hclfile.Map) bool {
	p := &fields{}
	for _, e := range m {
		name := strings.ReplaceAll(e.Name, "-", "_")
		if text, ok := e.Value.(string); ok && counted.MatchString(name) && reference.MatchString(text) {
			if _, err := strconv.ParseFloat(d.plain(text), 64); err != nil {
				b.leave(name+" = "+dollars(text), "the source does not set it")
				continue
			}
			e.Value = d.plain(text)
		}
		p.m = set(p.m, name, e.Value)
	}
	set, why := b.requests(p)
	if why != "" {
		d.leave("the benchmark "+b.name, why)
		return false
	}
	b.dataset = d.addDataset(set)
	b.model = textOf(p.take("model"))
	b.endpoint(p)
	b.rate(p)
	b.generation(p)
	if n := wholeOf(p.take("num_warmups")); n > 0 {
		b.warmup = n
	}
	if v := p.take("seed"); wholeOf(v) > 0 {
		b.attr("seed", wholeOf(v))
	}
	p.rest(recordedReasons(), b.leave)
	return true
}

// counted matches parameters whose value is a number.
var counted = lazyregexp.New(`_(?:len|prompts|concurrency|rate|warmups|ratio|requests|prefixes|input|output)$|` +
	`^(?:seed|burstiness|temperature)$`)

func recordedReasons() map[string]string {
	out := map[string]string{"lora_modules": "see models of the benchmark", "profile": "see the profile block"}
	for _, name := range recorded {
		out[name] = recordedWhy
	}
	return out
}

func (b *benchmark) attr(name string, value any) { b.attrs = set(b.attrs, name, value) }

// endpoint reads what is called.
func (b *benchmark) endpoint(p *fields) {
	called := textOf(p.take("endpoint"))
	backend := textOf(p.take("backend")) + textOf(p.take("endpoint_type"))
	switch {
	case strings.Contains(called, "chat/completions") || strings.HasSuffix(backend, "-chat"):
		b.attr("endpoint", "chat")
	case strings.Contains(called, "embeddings") || strings.Contains(backend, "embedding"):
		b.attr("endpoint", "embeddings")
	case strings.Contains(called, "rerank") || strings.Contains(backend, "rerank"):
		b.attr("endpoint", "rerank")
	case called == "/generate" || backend == "sglang":
		b.attr("endpoint", "generate")
	case called != "" && !strings.Contains(called, "completions"):
		b.leave("endpoint = "+called, "a benchmark calls one that it knows: see endpoint")
	}
}

// rate reads when requests are sent.
func (b *benchmark) rate(p *fields) {
	const fewest = 10 // for the mean of a run
	if n := wholeOf(p.take("num_prompts")); n > 0 {
		if n < fewest {
			b.leave("num_prompts = "+strconv.Itoa(n), "a run has 10 requests at least")
		}
		b.load = set(b.load, "requests", max(n, fewest))
	} else {
		b.load = set(b.load, "requests", 1000) // the default of vllm bench serve
	}
	if v := textOf(p.take("request_rate")); v != "" && v != "inf" {
		b.load = set(b.load, "rate", number(v))
	}
	if n := wholeOf(p.take("max_concurrency")); n > 0 {
		b.load = set(b.load, "max_concurrency", n)
	}
	if v := textOf(p.take("burstiness")); v != "" && v != "1" && v != "1.0" {
		b.load = set(b.load, "burstiness", number(v))
	}
	for objective := range strings.FieldsSeq(textOf(p.take("goodput"))) {
		if name, ms, ok := strings.Cut(objective, ":"); ok {
			b.goodput = set(b.goodput, name, ms+"ms")
		}
	}
}

// generation reads what each request asks for.
func (b *benchmark) generation(p *fields) {
	eos, disabled := p.take("ignore_eos"), p.take("disable_ignore_eos")
	if eos == nil && disabled == nil || disabled != nil || eos == false {
		b.attr("ignore_eos", false)
	}
	if v := textOf(p.take("temperature")); v != "" && v != "0" && v != "0.0" {
		b.attr("temperature", number(v))
	}
	var body hclfile.Map
	for _, name := range sampling {
		if v := textOf(p.take(name)); v != "" {
			body = set(body, name, number(v))
		}
	}
	extra := p.take("extra_body")
	if text, ok := extra.(string); ok {
		extra, _ = object(text)
	}
	more, _ := extra.(hclfile.Map)
	for _, e := range more {
		body = set(body, e.Name, e.Value)
	}
	if body != nil {
		b.attr("body", body)
	}
}

// requests reads what is sent. Its second result names why it could not.
func (b *benchmark) requests(p *fields) (*dataset, string) {
	kind := textOf(p.take("dataset_name"))
	file := textOf(p.take("dataset_path"))
	length := func(names ...string) int {
		for _, n := range names {
			if v := wholeOf(p.take(n)); v > 0 {
				return v
			}
		}
		return 0
	}
	set := &dataset{kind: kind, name: b.name}
	switch kind {
	case "random", "":
		b.random(p, set, length)
	case "sonnet":
		set.add("input_len", length("sonnet_input_len", "input_len"), 550)
		set.add("output_len", length("sonnet_output_len", "output_len"), 150)
		set.add("prefix_len", length("sonnet_prefix_len"), 200)
		if file != "" {
			b.leave("dataset_path = "+file, "the lines are embedded")
		}
	case "sharegpt":
		if file == "" {
			file = "ShareGPT_V3_unfiltered_cleaned_split.json"
		}
		set.attrs = append(set.attrs, hclfile.Pair{Name: "path", Value: strings.TrimPrefix(file, "./")})
		set.add("output_len", length("sharegpt_output_len", "output_len"), 0)
	case "custom":
		set.kind = "file"
		set.attrs = append(set.attrs, hclfile.Pair{Name: "path", Value: strings.TrimPrefix(file, "./")})
		set.add("output_len", length("custom_output_len", "output_len"), 0)
	case "prefix_repetition":
		set.add("num_prefixes", length("prefix_repetition_num_prefixes"), 10)
		set.add("prefix_len", length("prefix_repetition_prefix_len"), 256)
		set.add("suffix_len", length("prefix_repetition_suffix_len"), 256)
		set.add("output_len", length("prefix_repetition_output_len", "output_len"), 128)
	default:
		return nil, "its dataset " + strconv.Quote(kind) + " has no counterpart: write its prompts into a file, and see dataset file"
	}
	return set, ""
}

// random reads the random dataset. A prefix of vLLM is in front of the input, ours is part of it. Lengths with a ratio r are
// uniform between (1 − r) and (1 + r) times the length, as vLLM draws them.
func (b *benchmark) random(p *fields, set *dataset, length func(...string) int) {
	set.kind = "random"
	in := cmp.Or(length("random_input_len", "random_input", "input_len"), 1024)
	out := cmp.Or(length("random_output_len", "random_output", "output_len"), 128)
	prefix := length("random_prefix_len")
	ratio := textOf(p.take("random_range_ratio"))
	r, err := strconv.ParseFloat(ratio, 64)
	if err != nil || r <= 0 || r >= 1 {
		set.add("input_len", prefix+in, 0)
		set.add("output_len", out, 0)
	} else {
		set.attrs = append(set.attrs, hclfile.Pair{Name: "input_len", Value: around(in, r, prefix)},
			hclfile.Pair{Name: "output_len", Value: around(out, r, 0)})
	}
	set.add("prefix_len", prefix, 0)
}

func around(length int, ratio float64, prefix int) hclfile.Map {
	low, high := int(float64(length)*(1-ratio)), int(float64(length)*(1+ratio))
	return hclfile.Map{{Name: "min", Value: prefix + max(low, 1)}, {Name: "max", Value: prefix + high}}
}

// add adds a length unless it is 0; then its default in the source's tool.
func (s *dataset) add(name string, value, otherwise int) {
	if value = cmp.Or(value, otherwise); value > 0 {
		s.attrs = append(s.attrs, hclfile.Pair{Name: name, Value: value})
	}
}

// axis makes an argument of the load an axis of the matrix if it has several values. A rate of inf has no value.
func (b *benchmark) axis(name, argument string, values []any) {
	switch {
	case len(values) == 1:
		if textOf(values[0]) != "inf" {
			b.load = set(b.load, argument, numeric(values[0]))
		}
	case len(values) > 1:
		list := make([]any, len(values))
		unlimited := false
		for i, v := range values {
			unlimited = unlimited || textOf(v) == "inf"
			list[i] = numeric(v)
		}
		expr := hclfile.Expr("matrix." + name)
		if unlimited { // the values of an axis have one type
			for i, v := range values {
				list[i] = textOf(v)
			}
			expr = hclfile.Expr(`matrix.` + name + ` == "inf" ? null : tonumber(matrix.` + name + `)`)
		}
		b.axes = set(b.axes, name, list)
		b.load = set(b.load, argument, expr)
	}
}

func numeric(v any) any {
	if s, ok := v.(string); ok {
		return number(s)
	}
	return v
}
