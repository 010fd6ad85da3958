package argument

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/flags"
)

// work lists the engine arguments that define the served model, its lengths, prompts and sampling,
// and the number of GPUs. Each row is one setting, with its names in the engines. Servers that
// differ in one do not do the same work on the same machine.
var work = [][]string{
	// The model and the source of its parts.
	{"model", "model_path", "model_tag", "model_weights", "hf_repo", "model_url", "docker_repo",
		"model_id", "hfr", "hf", "mu", "dr"}, {"hf_file", "hff"}, {"force_model"}, {"model_format"}, {"extra_llm_api_options"}, {"override_kv"},
	{"served_model_name", "alias"}, {"revision"}, {"code_revision"},
	{"hf_config_path"}, {"config_format"}, {"model_config_parser"}, {"decrypted_config_file"}, {"model_class_overrides"},
	{"hf_overrides", "rope_scaling", "rope_theta"}, {"json_model_override_args"}, {"override_neuron_config"},
	{"load_format"}, {"model_loader_extra_config"}, {"custom_weight_loader"}, {"download_dir"}, {"ignore_patterns"}, {"modelexpress_config"},
	{"remote_instance_weight_loader_backend"}, {"remote_instance_weight_loader_seed_instance_ip"},
	{"remote_instance_weight_loader_seed_instance_service_port"}, {"checkpoint_engine_wait_weights_before_ready"},
	{"modelopt_checkpoint_restore_path"}, {"qlora_adapter_name_or_path"},
	{"tokenizer", "tokenizer_path"}, {"tokenizer_revision"}, {"tokenizer_mode"}, {"skip_tokenizer_init"}, {"tokens_only"},
	{"lora_modules", "lora_paths", "lora", "lora_scaled"}, {"lora_init_without_apply"}, {"control_vector", "control_vector_scaled"},
	{"control_vector_layer_range"}, {"mmproj", "mmproj_url"}, {"default_mm_loras"}, {"uno_lora_path"}, {"config"},
	{"custom_tokenizer"}, {"custom_module_dirs"}, {"checkpoint_format"}, {"checkpoint_loader"}, {"model_kwargs"}, {"lora_config"},
	{"rope_freq_base"}, {"rope_freq_scale", "rope_scale"}, {"yarn_orig_ctx"}, {"yarn_ext_factor"}, {"yarn_attn_factor"},
	{"yarn_beta_slow"}, {"yarn_beta_fast"},
	// Processing of a request.
	{"default_seed"}, {"system_prompt_file"},
	{"chat_template", "chat_template_file"}, {"jinja"}, {"chat_template_kwargs"}, {"reasoning"}, {"reasoning_format"}, {"reasoning_budget"},
	{"context_shift"}, {"keep"}, {"ignore_eos"}, {"special"}, {"pooling"}, {"embedding"}, {"rerank"}, {"grammar", "grammar_file"},
	{"json_schema", "json_schema_file"}, {"logit_bias"}, {"samplers"}, {"sampler_seq"}, {"temp"}, {"top_k"}, {"top_p"}, {"min_p"},
	{"repeat_penalty"}, {"presence_penalty"}, {"frequency_penalty"}, {"dry_multiplier"}, {"mirostat"},
	{"completion_template"}, {"hf_chat_template_name"}, {"chat_template_content_format"}, {"default_chat_template_kwargs"},
	{"generation_config"}, {"override_generation_config"}, {"sampling_defaults"}, {"preferred_sampling_params"},
	{"allow_auto_truncate"}, {"reasoning_config"}, {"logits_processors"}, {"logits_processor_pattern"},
	{"task"}, {"runner"}, {"convert"}, {"is_embedding"}, {"pooler_config", "override_pooler_config"},
	{"language_model_only", "language_only"}, {"encoder_only", "mm_encoder_only"}, {"limit_mm_per_prompt", "limit_mm_data_per_request"},
	{"mm_processor_kwargs", "mm_process_config"}, {"media_io_kwargs"}, {"video_pruning_rate"}, {"video_pruning_method"},
	{"speculative_accept_threshold_single"}, {"speculative_accept_threshold_acc"}, {"typical_acceptance_sampler_posterior_threshold"},
	{"typical_acceptance_sampler_posterior_alpha"}, {"spec_decoding_acceptance_method"},
	// GPUs and their number.
	{"data_parallel_size_local"}, {"data_parallel_start_rank"}, {"data_parallel_rank"}, {"data_parallel_external_lb"},
	{"data_parallel_hybrid_lb"},
	{"data_parallel_multi_port_external_lb"}, {"prefill_context_parallel_size", "pcp"}, {"context_parallel_size", "cp_size"},
	{"dwdp_size"}, {"gpus_per_node"},
	{"nnodes"}, {"node_rank"}, {"headless"}, {"device"}, {"device_ids"}, {"base_gpu_id"}, {"gpu_id_step"}, {"elastic_ep_initial_size"},
}

// Parallelism lists the ways to spread a server over GPUs, each with the names of its size. The last one is data
// parallelism.
var Parallelism = [][]string{
	{"tensor_parallel_size", "tp_size", "tp"}, {"pipeline_parallel_size", "pp_size", "pp"}, {"data_parallel_size", "dp_size", "dp"},
}

// pathsOfWork are keys of documents that define work, in arguments that otherwise define how it is
// done.
var pathsOfWork = []string{
	"speculative_config.rejection_sample_method", "speculative_config.acceptance_method", "speculative_config.posterior_threshold",
	"speculative_config.posterior_alpha", "speculative_config.synthetic_acceptance_rate", "speculative_config.synthetic_acceptance_rates",
	"speculative_config.use_relaxed_acceptance_for_thinking", "speculative_config.relaxed_topk", "speculative_config.relaxed_delta",
	"speculative_config.synthetic_acceptance_length", "speculative_config.typical_acceptance_sampler_posterior_threshold",
}

// argsOfWork maps each name in work to the first name of its row.
var argsOfWork = func() map[string]string {
	out := map[string]string{}
	for _, row := range slices.Concat(work, Parallelism) {
		for _, name := range row {
			out[name] = row[0]
		}
	}
	return out
}()

// shorter lists the arguments that limit the length of a sequence. A longer limit does not change
// the work; a shorter one can cut it.
var shorter = []string{"max_model_len", "context_length", "ctx_size", "predict", "n_predict", "session_len", "max_seq_len", "max_input_len"}

// envOfWork matches the environment variables that define the source of a model, the processing of
// requests, or the devices of a server.
var envOfWork = lazyregexp.New(`^(` + strings.Join([]string{
	// Devices, with any vendor's names.
	`[A-Z_]*VISIBLE_(DEVICES|CORES|CHIPS|MODULES)`, `CUDA_DEVICE_ORDER`, `GPU_DEVICE_ORDINAL`, `ZE_AFFINITY_MASK`,
	`ONEAPI_DEVICE_SELECTOR`, `RBLN_DEVICES`,
	`NEURON_RT_NUM_CORES`, `TPU_(CHIPS|PROCESS)_[A-Z_]*`, `VLLM_DP_(SIZE|RANK|RANK_LOCAL)`, `SGLANG_DP_RANK`, `VLLM_TARGET_DEVICE`,
	// The source of a model and its parts.
	`HF_(ENDPOINT|HOME|HUB_CACHE|HUB_OFFLINE|MODULES_CACHE|DATASETS_CACHE)`, `HUGGINGFACE_(HUB_CACHE|CO_URL_HOME)`,
	`TRANSFORMERS_(CACHE|OFFLINE)`, `PYTORCH_(PRETRAINED_BERT|TRANSFORMERS)_CACHE`, `XDG_CACHE_HOME`, `HOME`, `MODELSCOPE_[A-Z_]*`,
	`(VLLM|SGLANG)_USE_MODELSCOPE`, `VLLM_MODEL_REDIRECT_PATH`, `VLLM_TEST_FORCE_LOAD_FORMAT`, `VLLM_LORA_RESOLVER_[A-Z_]*`,
	`VLLM_PLUGINS`, `SGLANG_EXTERNAL_[A-Z_]*`, `SGLANG_DISABLED_MODEL_ARCHS`, `AWS_ENDPOINT_URL[A-Z0-9_]*`, `RUNAI_STREAMER_S3_[A-Z_]*`,
	`(VLLM|SGLANG)_CONFIG_[A-Z_]*`, `LLAMA_CACHE`, `MODEL_ID`, `(HTTPS?|ALL|NO)_PROXY`, `(https?|all|no)_proxy`,
	`(REQUESTS|CURL)_CA_BUNDLE`, `SSL_CERT_(FILE|DIR)`, `TIKTOKEN_[A-Z_]*`,
	`LLAMA_ARG_(MODEL(_URL)?|HF_(REPO|FILE)(_V)?|DOCKER_REPO|CTX_SIZE|N_PREDICT|CHAT_TEMPLATE[A-Z_]*|ROPE_[A-Z_]*|YARN_[A-Z_]*|` +
		`DEVICE|MAIN_GPU|SPLIT_MODE|TENSOR_SPLIT|OVERRIDE_KV|EMBEDDINGS|POOLING)`,
	// Processing of requests, and simulated tokens.
	`TLLM_OVERRIDE_LAYER_NUM`, `TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS`,
	`(SGLANG_)?SIMULATE_ACC_[A-Z_]*`, `VLLM_MOE_ROUTING_SIMULATION_STRATEGY`, `SGLANG_MAX_NEW_TOKENS_LIMIT`, `SGLANG_MAX_THINK_TOKENS`,
	`SGLANG_DEFAULT_THINKING`, `SGLANG_[A-Z0-9_]*REASONING_EFFORT`, `SGLANG_IMAGE_MAX_PIXELS`, `SGLANG_DSPARK_SIMULATE_FOLD`,
	`SGLANG_KV_CANARY_[A-Z_]*`, `VLLM_MAX_IMAGE_PIXELS`, `VLLM_GPT_OSS_HARMONY_SYSTEM_INSTRUCTIONS`, `VLLM_SYSTEM_START_DATE`,
	`VLLM_SKIP_MODEL_NAME_VALIDATION`, `(SGLANG|VLLM)_TEST_[A-Z_]*`,
}, "|") + `)$`)

// OtherWork returns an argument or a variable by which two servers serve another model, use other
// GPUs, or do less for a request; "" if there is none.
func OtherWork(a, b steps.ServerSpec) string {
	was, is := workOf(a), workOf(b)
	if cut := OtherSettings(lengthsOf(a), lengthsOf(b)); len(cut) > 0 {
		return cut[0]
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(names)
	for _, name := range names {
		if !maps.Equal(was[name], is[name]) {
			return name
		}
	}
	return ""
}

// Work returns the settings and variables of a server that decide its work, by argument and path, in a form that can be
// stored: OtherSettings compares it with that of another server.
func Work(spec steps.ServerSpec) map[string]string {
	out := map[string]string{}
	for name, settings := range workOf(spec) {
		for path, value := range settings {
			if path != "" {
				path = "." + path
			}
			out[name+path] = value
		}
	}
	maps.Copy(out, lengthsOf(spec))
	return out
}

// lengthsOf returns the limits of a server's sequences, from its arguments and its command line.
func lengthsOf(spec steps.ServerSpec) map[string]string {
	l := NewLists(spec.Engine, "", spec.EngineVersion())
	words, _ := l.wordsOf(slices.Concat(spec.Under, spec.Executable))
	all := Settings{}
	for _, a := range l.expand(slices.Concat(words, spec.Args)) {
		all.add(l, a)
	}
	out := map[string]string{}
	for _, name := range shorter {
		if v := all[name]; v != "" {
			out[name] = v
		}
	}
	return out
}

// OtherSettings lists the settings, as of Work, by which a server does other work than one before it, in order of name.
func OtherSettings(was, is map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		before, had := was[name]
		longer := slices.Contains(shorter, name) && had && atLeast(is[name], before)
		if (!had || before != is[name]) && !longer {
			out = append(out, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, has := is[name]; !has && !slices.Contains(shorter, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// atLeast reports whether a length, which may end in k or M, is at least another one.
func atLeast(length, other string) bool {
	x, okX := tokens(length)
	y, okY := tokens(other)
	return okX && okY && x >= y
}

// tokens parses a length as vLLM does: 8k is 8,000 and 8K is 8,192.
func tokens(text string) (float64, bool) {
	units := map[string]float64{"k": 1e3, "m": 1e6, "g": 1e9, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
	unit := 1.0
	if n := len(text) - 1; n > 0 && units[text[n:]] > 0 {
		unit, text = units[text[n:]], text[:n]
	}
	x, err := strconv.ParseFloat(text, 64)
	return x * unit, err == nil
}

// workOf returns the settings and variables of a server that OtherWork compares, by the name of the
// argument or the variable. It uses the lists of all versions and those of the stated version,
// because a server of another version may complete names that the stated one does not know.
func workOf(spec steps.ServerSpec) map[string]Settings {
	out := map[string]Settings{}
	for _, l := range []Lists{{name: spec.Engine, known: flags.All(spec.Engine)}, NewLists(spec.Engine, "", spec.EngineVersion())} {
		l.addWork(spec, out)
	}
	return out
}

// addWork adds the settings and variables of work that the lists find.
func (l Lists) addWork(spec steps.ServerSpec, out map[string]Settings) {
	words, assigned := l.wordsOf(slices.Concat(spec.Under, spec.Executable))
	for _, a := range l.expand(slices.Concat(words, spec.Args)) {
		one := Settings{}
		one.add(l, a)
		for path, v := range one {
			name, ok := l.decides(a.Name, path)
			if !ok {
				continue
			}
			if out[name] == nil {
				out[name] = Settings{}
			}
			_, rest, _ := strings.Cut(path, ".")
			out[name][rest] = v
		}
	}
	for _, word := range slices.Concat(spec.Under, spec.Executable) {
		if weights.MatchString(word) {
			out["model"] = Settings{"": word}
		}
	}
	for _, e := range slices.Concat(assigned, spec.Env) {
		if envOfWork.MatchString(e.Name) {
			out[e.Name] = Settings{"": e.Value}
		}
	}
}

// weights matches a word of a command line that names a file of weights.
var weights = lazyregexp.New(`(?i)\.(gguf|ggml|safetensors|llamafile|onnx|engine)$`)

// hubFolders matches the default folders of containers for models of a hub.
var hubFolders = lazyregexp.New(`(^|/)\.cache(/(huggingface|modelscope)(/.*)?)?$`)

// FilesOfWork returns the paths of files and folders that the work of a server may depend on, by
// setting or variable: the values of its settings, and mounts at the places where models are found
// by name. A value may not be a path. The path of an adapter follows its name and a "=".
func FilesOfWork(spec steps.ServerSpec) map[string][]string {
	out := map[string][]string{}
	for name, settings := range workOf(spec) {
		for _, text := range settings {
			for _, value := range elements(text) {
				_, path, _ := strings.Cut(value, "=")
				out[name] = append(out[name], strings.TrimPrefix(value, "file://"), path)
			}
		}
		out[name] = slices.DeleteFunc(out[name], func(path string) bool { return path == "" })
		slices.Sort(out[name])
	}
	if spec.Container == nil {
		return out
	}
	const mount = "folder of models"
	out[mount] = []string{"/root/.cache/huggingface", "/root/.cache/modelscope"}
	for _, m := range spec.Container.Mounts {
		if hubFolders.MatchString(m.Target) {
			out[mount] = append(out[mount], m.Target)
		}
	}
	return out
}

// elements returns the texts in the value of a setting: from a list and the documents in it, or the
// value itself.
func elements(text string) []string {
	var list []any
	if json.Unmarshal([]byte(text), &list) != nil {
		return []string{text}
	}
	var out []string
	for _, value := range list {
		one := Settings{}
		one.put("", value)
		out = slices.AppendSeq(out, maps.Values(one))
	}
	return out
}

// decides returns the name in the table of work under which a setting is compared. An ambiguous
// name counts for each of its completions.
func (l Lists) decides(name, path string) (row string, ok bool) {
	_, rest, _ := strings.Cut(path, ".")
	head, _, _ := strings.Cut(path, ".")
	names := []string{head}
	for _, d := range l.complete(name) {
		for _, n := range d.Names {
			names = append(names, argOf(n))
		}
	}
	for _, n := range names {
		if row, ok := argsOfWork[n]; ok {
			return row, true
		}
		for _, p := range pathsOfWork {
			if full := n + "." + rest; full == p || strings.HasPrefix(full, p+".") {
				return p, true
			}
		}
	}
	return "", false
}

// wordsOf reads flags and variable assignments from the words of a command line.
func (l Lists) wordsOf(words []string) (args []steps.Arg, env []steps.EnvVar) {
	for i, word := range words {
		name, value, assigned := strings.Cut(word, "=")
		bare := strings.TrimLeft(name, "-")
		if name == "-"+bare { // single-dash flags are not completed
			bare = l.short(bare)
		}
		switch {
		case bare == name && assigned:
			env = append(env, steps.EnvVar{Name: name, Value: value})
		case bare == name || bare == "":
		case assigned:
			args = append(args, steps.Arg{Name: bare, Value: value})
		case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			args = append(args, steps.Arg{Name: bare, Value: words[i+1]})
		default:
			args = append(args, steps.Arg{Name: bare, Value: true})
		}
	}
	return args, env
}
