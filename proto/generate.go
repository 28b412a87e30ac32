// Package proto holds the definition of the public API and of the operator's side (storefront/admin),
// which is no part of it and has no HTTP binding: one file per resource, with its messages and the
// bounds of what requests may hold (protovalidate's options), its service, its HTTP binding and the
// comments that become the reference. It imports nothing.
//
// Regenerating needs Go and Node: the versions of buf and of its plugins are pinned in
// package-lock.json and tools.mod, and none is fetched from buf's registry. google/api and
// buf/validate are the parts of those vocabularies that are used here. The OpenAPI document comes
// after the messages, with which the program that writes it is built, and what the other clients have
// of the document comes last.
package proto

//go:generate npm --prefix .. ci --silent --no-audit --no-fund
//go:generate sh -c "cd .. && node_modules/.bin/buf generate"
//go:generate sh -c "cd .. && node_modules/.bin/buf generate --template cmd/openapi/buf.gen.yaml"
//go:generate sh -c "cd .. && go run ./client/generate"
