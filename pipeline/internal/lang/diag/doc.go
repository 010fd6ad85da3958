// Package diag shows diagnostics: as text with the source line and a caret, and as JSON
// for editors and other programs. The text is rendered from the JSON form, so neither
// can say more than the other.
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
// Source, messages and values are shown with control characters made visible. A value
// that carries a mark (a sensitive one) is never shown. The JSON shape is the one of
// `terraform validate -json`, format version 1.0, with a code added to each diagnostic.
//
// The package decides nothing: it neither finds problems nor drops them.
package diag
