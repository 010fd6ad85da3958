package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
)

// orderFile holds what the process is to do.
const orderFile = "order.json"

// headersVar is the variable of the process that holds the headers of requests, as JSON.
const headersVar = "PIPELINE_LOAD_HEADERS"

// order is what of [load.Options] crosses by the file.
type order struct {
	BaseURL   string         `json:"base_url"`
	Model     string         `json:"model"`
	Workload  steps.Workload `json:"workload"`
	Seed      uint64         `json:"seed"`
	ShapeSeed uint64         `json:"shape_seed,omitempty"`
	TimeScale float64        `json:"time_scale,omitempty"`
	// Dir and Dirs are those of [dataset.Files], absolute; "" and none where no file is read.
	Dir  string   `json:"dir,omitempty"`
	Dirs []string `json:"dirs,omitempty"`
}

// newOrder refuses what cannot cross.
func newOrder(opt load.Options) (order, error) {
	if opt.TLS != nil || opt.Witness != nil {
		return order{}, errors.New("load: a load generator in a process of its own takes no TLS configuration and no witness")
	}
	o := order{
		BaseURL: opt.BaseURL, Model: opt.Model, Workload: opt.Workload, Seed: opt.Seed, ShapeSeed: opt.ShapeSeed,
		TimeScale: opt.TimeScale,
	}
	if opt.Files == nil {
		return o, nil
	}
	o.Dirs = opt.Files.Dirs
	if opt.Files.Dir != "" {
		dir, err := filepath.Abs(opt.Files.Dir) // the process starts in another folder
		if err != nil {
			return order{}, fmt.Errorf("load: the folder of datasets: %w", err)
		}
		o.Dir = dir
	}
	return o, nil
}

// options are what was ordered. Those that are functions are the caller's.
func (o order) options() load.Options {
	return load.Options{
		BaseURL: o.BaseURL, Model: o.Model, Workload: o.Workload, Seed: o.Seed, ShapeSeed: o.ShapeSeed,
		TimeScale: o.TimeScale, Files: &dataset.Files{Dir: o.Dir, Dirs: o.Dirs},
	}
}

// write writes the order for its owner alone.
func (o order) write(folder string) error {
	text, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("load: the order of a run: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, orderFile), text, 0o600); err != nil {
		return fmt.Errorf("load: the order of a run: %w", err)
	}
	return nil
}

// maxOrder bounds the file of an order: it has no prompts in it.
const maxOrder = 16 << 20

func readOrder(folder string) (order, error) {
	text, err := readBounded(filepath.Join(folder, orderFile), maxOrder)
	if err != nil {
		return order{}, fmt.Errorf("the order of a run cannot be read; the run directory must be on a file system that the nodes share: %w", err)
	}
	return parseOrder(text)
}

// parseOrder reads an order. Numbers without a type of their own stay as they are written,
// so that a field of a body reaches the server as the file has it.
func parseOrder(text []byte) (order, error) {
	var o order
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	in.UseNumber()
	if err := in.Decode(&o); err != nil {
		return order{}, fmt.Errorf("the order of a run: %w; both sides must be the same version of this program", err)
	}
	if in.More() {
		return order{}, errors.New("the order of a run has something behind it")
	}
	return o, nil
}

// writeHeaders writes headers as a variable.
func writeHeaders(headers map[string]string) ([]steps.EnvVar, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(headers)
	if err != nil {
		return nil, fmt.Errorf("load: headers: %w", err)
	}
	return []steps.EnvVar{{Name: headersVar, Value: string(text), Secret: true}}, nil
}

// readHeaders reads them. An error does not quote them.
func readHeaders(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	var headers map[string]string
	if json.Unmarshal([]byte(text), &headers) != nil {
		return nil, fmt.Errorf("%s is not a JSON object of texts", headersVar)
	}
	return headers, nil
}
