// Package auth identifies callers. It makes and recognises API keys, and admits requests by their key, their address and the
// limits of both (specification, Authentication and Limits).
//
// The order of the checks in Gate.Admit is a contract:
//
//	address limit ─► Authorization ─► key ─────────────► counter ─► store's status ─► Principal
//	      │               │            │                    │             │
//	 rate_limited   api_key_missing  api_key_invalid   rate_limited  store_unavailable
//	                                 api_key_revoked
//	                                 api_key_expired
//
// A request with a known key counts on the key's counter, one with an unknown key, malformed or not, on its client: its IPv4
// address or IPv6 /64. A client beyond its limit is refused for the rest of the minute, whatever its key, and counts on no key.
// One statement reads the client's limit, the key, its store and its counter.
//
// On PostgreSQL that statement also counts, only in the database, so that any number of servers count together; requests that
// arrive at once share one statement. A SQLite file has one server, which counts the requests of known keys in memory, so that
// admitting them writes nothing. Gate.Run writes these counters and the last use of each key every ten seconds; a killed
// process loses what it has not written. Memory also holds the blocked clients until the minute ends.
//
// The package never stores or logs the text of a key, and only NewKey returns it; everything else uses fingerprints and hints.
// It does not create, list or revoke keys, and writes no responses.
package auth
