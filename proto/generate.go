// Package proto holds the definition of the public API and of the operator's side (storefront/admin),
// which is no part of it and has no HTTP binding: one file per resource, with its messages and the
// bounds of what requests may hold (protovalidate's options), its service, its HTTP binding and the
// comments that become the reference. It imports nothing.
//
// Regenerating needs Go and Node: the versions of buf and of its plugins are pinned in
// package-lock.json and tools.mod, and none is fetched from buf's registry. google/api and
// buf/validate are the parts of those vocabularies that are used here. The OpenAPI document comes
// after the messages, with which the program that writes it is built, and what the other clients have
// of the document comes last. Each step prints what it makes, because the first time all of them together take minutes.
package proto

//go:generate echo "proto: install buf and the plugins that package-lock.json pins (npm ci)"
//go:generate npm --prefix .. ci --silent --no-audit --no-fund
//go:generate echo "proto: write messages and services to gen/storefront and gen/ts (buf; the first time it compiles the plugins for Go)"
//go:generate sh -c "cd .. && node_modules/.bin/buf generate"
//go:generate echo "proto: write the OpenAPI document to gen/openapi (buf with cmd/openapi)"
//go:generate sh -c "cd .. && node_modules/.bin/buf generate --template cmd/openapi/buf.gen.yaml"
//go:generate echo "proto: write the models and operations of the PHP and the Python client to gen/php and gen/python (client/generate)"
//go:generate sh -c "cd .. && go run ./client/generate"
