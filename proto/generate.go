// Package proto defines the public API (storefront/v1) and the operator's services (storefront/admin), which have no HTTP
// binding. Each resource has one file with its messages, the bounds of their fields (protovalidate's options), its service and
// the comments that become the reference. The package imports nothing.
//
// go generate needs Go and Node. package-lock.json and tools.mod pin the versions of buf and its plugins; nothing is fetched
// from buf's registry. google/api and buf/validate are copies of the parts that these files use. The OpenAPI document is
// generated after the messages, because the program that writes it imports them. The PHP and the Python client come last,
// because they are generated from the document. The first run takes minutes, so each step prints what it makes.
package proto

//go:generate echo "proto: install buf and the plugins that package-lock.json pins (npm ci)"
//go:generate npm --prefix .. ci --silent --no-audit --no-fund
//go:generate echo "proto: write messages and services to gen/storefront and gen/ts (buf; the first time it compiles the plugins for Go)"
//go:generate sh -c "cd .. && node_modules/.bin/buf generate"
//go:generate echo "proto: write the OpenAPI document to gen/openapi (buf with cmd/openapi)"
//go:generate sh -c "cd .. && node_modules/.bin/buf generate --template cmd/openapi/buf.gen.yaml"
//go:generate echo "proto: write the models and operations of the PHP and the Python client to gen/php and gen/python, and the changes of the Go client (client/generate)"
//go:generate sh -c "cd .. && go run ./client/generate"
