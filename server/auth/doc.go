// Package auth identifies callers. It makes and recognises API keys, and admits requests by their
// key, their address and the limits of both (specification, Authentication and Limits).
//
// The order of the checks in Gate.Admit is a contract:
//
//	address limit ─► Authorization ─► key ─────────────► counter ─► store's status ─► Principal
//	      │               │            │                    │             │
//	 rate_limited   api_key_missing  api_key_invalid   rate_limited  store_unavailable
//	                                 api_key_revoked
//	                                 api_key_expired
//
// A request with a known key counts on the key's counter, one with an unknown key, malformed or not,
// on its client: its IPv4 address or IPv6 /64. A client beyond its limit is refused for the rest of
// the minute, whatever its key, and counts on no key. One statement reads the client's limit, the key,
// its store and its counter.
//
// On PostgreSQL the same statement counts, and only the database does, so that any number of servers
// count together. An SQLite file has one server: it counts the requests of known keys in memory, and
// its requests only read. Gate.Run writes those counters and the last use of each key from time to
// time; a killed process loses at most five seconds of the one and half a minute of the other. Memory
// holds the clients already beyond the limit, too, until the minute ends.
//
// The package never keeps, logs or returns the text of a key: after NewKey there are only
// fingerprints and hints. It does not create, list or revoke keys, and writes no responses.
package auth
