package store

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/google/renameio/v2"
)

// Cache remembers the outputs of steps by their cache keys, across runs. Outputs can hold
// secrets, so its files are for the owner only and are not masked.
type Cache struct{ root *os.Root }

// OpenCache opens the cache in a directory, which is created if it is absent.
func OpenCache(path string) (*Cache, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("open the step cache: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the step cache: %w", err)
	}
	return &Cache{root: root}, nil
}

// entry is a cached step. Step and Key are the whole identity, since names are shortened.
type entry struct {
	Step    string            `json:"step"`
	Key     string            `json:"key"`
	Outputs map[string]string `json:"outputs"`
}

func (c *Cache) name(step, key string) string { return Name(step+" "+key) + ".json" }

// Load returns the outputs that a step had under a key. An entry that cannot be read
// counts as absent: the step is then carried out again.
func (c *Cache) Load(step, key string) (map[string]string, bool) {
	f, err := c.root.Open(c.name(step, key))
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }() // opened for reading
	var e entry
	if err := json.NewDecoder(io.LimitReader(f, maxFile)).Decode(&e); err != nil {
		return nil, false
	}
	return e.Outputs, e.Step == step && e.Key == key
}

// Store remembers the outputs of a step.
func (c *Cache) Store(step, key string, outputs map[string]string) error {
	data, err := json.Marshal(entry{Step: step, Key: key, Outputs: outputs})
	if err != nil {
		return fmt.Errorf("cache %s: %w", step, err)
	}
	if err := renameio.WriteFile(c.name(step, key), data, 0o600, renameio.WithRoot(c.root)); err != nil {
		return fmt.Errorf("cache %s: %w", step, err)
	}
	return nil
}
