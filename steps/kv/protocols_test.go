package kv_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/router"
)

// TestProtocolsAreTheRouters: every form names protocols that our router speaks.
func TestProtocolsAreTheRouters(t *testing.T) {
	for _, c := range kv.Connectors() {
		for _, f := range c.Forms {
			for _, p := range f.Protocols {
				if !slices.Contains(router.Protocols(), p) {
					t.Errorf("%s of %s: the router has no protocol %q", c.Name, f.Class, p)
				}
			}
		}
	}
}
