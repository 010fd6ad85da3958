// Package diag renders diagnostics: as text with the source line and a caret, and as JSON for
// editors and other programs. The text is rendered from the JSON form, so both contain the same.
//
//	╷ Error P2104: matrix axis is not known before the run
//	│
//	│   on mooncake.pipeline.hcl line 54, in benchmark "serving", matrix:
//	│    54:     target = [server.vllm.base.url]
//	│                      ^^^^^^^^^^^^^^^^^^^^
//	│ server.vllm.base.url exists only after the server has started, so the number
//	│ of cells cannot be planned. Use the server itself: server.vllm.base.
//	╵
//	1 error, 0 warnings
//
// Control characters in source, messages and values are made visible. A value with a mark (a
// sensitive one) is never shown. The JSON form is that of `terraform validate -json`, format
// version 1.0, with a code added to each diagnostic.
//
// The package neither finds nor drops diagnostics.
package diag
