// Package conformance holds the tests that hold the whole service against the specification. It
// has no code of its own: it starts the real server on a loopback port, over a fresh database of
// each kind, and talks to it as a client does.
//
// One suite of cases runs on every face (REST, Connect JSON, Connect binary, gRPC, gRPC-Web) and on
// every database. A case names the rows of the specification that it shows; the rows are listed in
// testdata/specification.txt, and a row that no case names fails a test, as does a case that
// names a row that is not there.
//
// The answers of REST are judged by encoding/json and by expectations spelt out by hand: nothing
// here is compared with what the service's own encoder says. The exact bytes of the wire are kept
// in testdata/wire, one file an exchange; -update rewrites them, and a change in them is a change
// of the API.
package conformance
