package main

// After the messages, which proto/generate.go makes: the program is built with them.
//go:generate sh -c "cd ../.. && go tool -modfile=tools.mod buf generate --template proto/openapi/buf.gen.yaml"
