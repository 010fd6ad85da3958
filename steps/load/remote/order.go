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

// orderFile holds the options of the run.
const orderFile = "order.json"

// headersVar is the environment variable with the headers of requests, as JSON.
const headersVar = "PIPELINE_LOAD_HEADERS"

// writeOrder writes the options to the file, readable by its owner only. It makes the folder of datasets
// absolute, because the process starts in another folder.
func writeOrder(folder string, opt load.Options) error {
	if opt.Files != nil && opt.Files.Dir != "" {
		dir, err := filepath.Abs(opt.Files.Dir)
		if err != nil {
			return fmt.Errorf("load: the folder of datasets: %w", err)
		}
		opt.Files = &dataset.Files{Dir: dir, Dirs: opt.Files.Dirs}
	}
	text, err := encodeOrder(opt)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, orderFile), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("load: the order of a run: %w", err)
	}
	return nil
}

// encodeOrder encodes options.
func encodeOrder(opt load.Options) ([]byte, error) {
	if opt.TLS != nil || opt.Witness != nil {
		return nil, errors.New("a load generator in its own process supports neither TLS nor a witness")
	}
	return json.Marshal(opt)
}

// maxOrder is the largest size of an order in bytes. It contains no prompts.
const maxOrder = 16 << 20

func readOrder(folder string) (load.Options, error) {
	text, err := readBounded(filepath.Join(folder, orderFile), maxOrder)
	if err != nil {
		return load.Options{},
			fmt.Errorf("the order of a run cannot be read; the run directory must be on a file system that the nodes share: %w", err)
	}
	return parseOrder(text)
}

// parseOrder parses an order. It keeps numbers in untyped fields as written, so that body fields reach the
// server unchanged.
func parseOrder(text []byte) (load.Options, error) {
	var o load.Options
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	in.UseNumber()
	if err := in.Decode(&o); err != nil {
		return load.Options{}, fmt.Errorf("the order of a run: %w; both sides must be the same version of this program", err)
	}
	if in.More() {
		return load.Options{}, errors.New("the order of a run has something behind it")
	}
	return o, nil
}

// writeHeaders returns the variable with the headers.
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

// readHeaders parses the variable. Its error does not quote the content.
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
