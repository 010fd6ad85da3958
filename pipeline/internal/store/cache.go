package store

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/google/renameio/v2"
)

// Cache stores the outputs of steps by cache key, across runs. Outputs may contain secrets, so its files are
// readable by the owner only; they are not masked.
type Cache struct{ root *os.Root }

// OpenCache opens the cache in a directory, and creates it if absent.
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

// entry is a cached step. Step and Key identify it, because file names are shortened.
type entry struct {
	Step    string            `json:"step"`
	Key     string            `json:"key"`
	Outputs map[string]string `json:"outputs"`
}

func (c *Cache) name(step, key string) string { return Name(step+" "+key) + ".json" }

// Load returns the outputs of a step under a key. An unreadable entry counts as absent; the step then runs
// again.
func (c *Cache) Load(step, key string) (map[string]string, bool) {
	f, err := c.root.Open(c.name(step, key))
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }() // opened for reading only
	var e entry
	if err := json.NewDecoder(io.LimitReader(f, maxFile)).Decode(&e); err != nil {
		return nil, false
	}
	return e.Outputs, e.Step == step && e.Key == key
}

// Store stores the outputs of a step.
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
