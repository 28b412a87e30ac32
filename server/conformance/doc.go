// Package conformance tests the whole service against the specification. It has only tests: it starts the real server on a
// loopback port, over a fresh database of each kind, and calls it as a client does.
//
// One suite of cases runs on every protocol (REST, Connect JSON, Connect binary, gRPC, gRPC-Web) and on every database.
//
// Every exchange under /v1 and every delivery of a webhook is checked against the OpenAPI document, by the transport that all
// cases use. An answer that is not in the document fails the case, and so does a served request that the document does not
// allow. A run of the whole suite also fails if no exchange has shown some part of the document.
//
// The answers of REST are checked with encoding/json and hand-written expectations, never with the service's own encoder. The
// exact bytes on the wire are in testdata/wire, one file for each exchange; -update rewrites them, and a change in them is a
// change of the API.
package conformance
