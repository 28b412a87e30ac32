// Package proto holds the definition of the public API and of the operator's side (storefront/admin),
// which is no part of it and has no HTTP binding: one file per resource, with its
// messages, its service, its HTTP binding and the comments that become the reference.
//
// Regenerating needs Go and Node: the plugins' versions are pinned in tools.mod and
// package-lock.json, and none is fetched from buf's registry.
package proto

//go:generate npm --prefix .. ci --silent --no-audit --no-fund
//go:generate sh -c "cd .. && go tool -modfile=tools.mod buf generate"
