package kv

import (
	"maps"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// multi combines several connectors.
var multi = Connector{
	Name: "multi", Doc: "vLLM's MultiConnector: several connectors in a row, the first that has the blocks loads, all save. config = { " +
		"connectors = [{ connector = \"nixl\" }, { connector = \"mooncake_store\" }] }.",
	Transports: []string{NCCL, TCP, RDMA, NVLink}, Chunk: 255, several: true,
	Forms: []Form{{Engine: VLLM, From: "0.9", Class: "MultiConnector", Shared: true}},
}

// example is vLLM's example connector. SharedStorageConnector was renamed ExampleConnector by
// vllm-project/vllm#30201 (0.13).
var example = Connector{
	Name: "example", Doc: "vLLM's ExampleConnector (SharedStorageConnector before 0.13): files in a shared folder. For debugging.",
	Through: "files in a shared folder",
	Options: []steps.Attr{
		{Name: "path", Type: cty.String, Rule: steps.Matching("^/", "must begin with a slash",
			"Each server has a working directory of its own, so only an absolute path is the same folder for all."),
			Doc: "Folder that all servers share; " + defaultSharedPath + " unless set."},
	},
	Forms: []Form{
		{Engine: VLLM, From: "0.8.5", To: "0.12", Class: "SharedStorageConnector", Protocols: []string{"v0", "round_robin"}, Shared: true,
			Store: true, NoParams: true, Config: exampleConfig, Play: examplePlay},
		{Engine: VLLM, From: "0.13", Class: "ExampleConnector", Protocols: []string{"v0", "round_robin"}, Shared: true, Store: true,
			NoParams: true, Config: exampleConfig, Play: examplePlay},
	},
	// vLLM 0.8.5 to 0.33, example_connector.py and shared_storage_connector.py.
	Lines: []Line{
		{Words: []string{"Inject KV cache of"}, Read: func(line string) Signal { return counted(line, "Inject KV cache of") }},
	},
}

// defaultSharedPath is the default folder of the example connector.
const defaultSharedPath = "/tmp/pipeline-kv"

func exampleConfig(w *Writer) {
	w.Extra["shared_storage_path"] = defaultSharedPath
	if path := text(w.part.spec.Options["path"]); path != "" {
		w.Extra["shared_storage_path"] = path
	}
}

var examplePlay = Play{
	Exchange: ByFile,
	Resolve: func(p *Part) error {
		p.Transport, p.Produces, p.Consumes = Files, true, true
		return nil
	},
}

// dummies are the engines' connectors that make KV appear without a transfer.
var dummies = Connector{
	Name: "dummy",
	Forms: []Form{
		{Engine: VLLM, From: "0.13", Class: "DecodeBenchConnector", Unlisted: true, Play: Play{Exchange: FromNothing}},
		{Engine: SGLang, Class: "fake", Unlisted: true, Play: Play{Exchange: FromNothing, Push: true}},
	},
}

// custom passes a connector to the engine that this package does not know.
var custom = Connector{
	Name: "custom", Doc: "A connector that we do not know, handed to the engine as it is written here.",
	Transports: []string{NCCL, TCP, RDMA, NVLink}, foreign: true,
	Options: []steps.Attr{
		{Name: "connector", Type: cty.String, Required: true, Doc: "The engine's name of it: vLLM's kv_connector, SGLang's transfer backend."},
		{Name: "module_path", Type: cty.String, Doc: "Python module that vLLM loads the connector from."},
		{Name: "env", Type: cty.Map(cty.String), Doc: "Variables that every server gets unless it sets them itself."},
	},
	Forms: []Form{
		{Engine: VLLM, Shared: true, NoParams: true, Config: func(w *Writer) {
			if module := text(w.part.spec.Options["module_path"]); module != "" {
				w.Top["kv_connector_module_path"] = module
			}
			customEnv(w)
		}},
		{Engine: SGLang, Protocols: []string{"sglang"}, Announce: PortBootstrap, DeviceFlag: true, Ports: sglangBootstrap, Config: customEnv},
	},
}

func customEnv(w *Writer) {
	env, _ := w.part.spec.Options["env"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		w.SetEnv(name, text(env[name]))
	}
}
