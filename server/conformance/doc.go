// Package conformance holds the tests that hold the whole service against the specification. It
// has no code of its own: it starts the real server on a loopback port, over a fresh database of
// each kind, and talks to it as a client does.
//
// One suite of cases runs on every face (REST, Connect JSON, Connect binary, gRPC, gRPC-Web) and on
// every database.
//
// Every exchange under /v1 and every delivery of a webhook is held against the OpenAPI document, by the
// transport that all cases send through: an answer that the document does not name fails the case,
// as does a request that was served although the document refuses it. After a run of the whole
// suite, what the document names and nothing has shown fails it too.
//
// The answers of REST are judged by encoding/json and by expectations spelt out by hand: nothing
// here is compared with what the service's own encoder says. The exact bytes of the wire are kept
// in testdata/wire, one file an exchange; -update rewrites them, and a change in them is a change
// of the API.
package conformance
