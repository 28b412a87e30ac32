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
// A request with a known key counts for the key. A request with an unknown or malformed key counts for its client, which is
// an IPv4 address or an IPv6 /64. If the client is over its limit, all its requests are refused until the minute ends; they
// count for no key. One statement reads the client's count, the key, and the store and the count of the key.
//
// On PostgreSQL this statement also counts. All counts are in the database, so that any number of servers count together.
// Requests that arrive at once share one statement. On SQLite there is only one server. It counts requests with known keys in
// memory, so that they write nothing to the database. Gate.Run writes these counts, and the last use of each key, every ten
// seconds; a killed process loses what it has not written. Blocked clients are also in memory, until the minute ends.
//
// The package never stores or logs the text of a key. Only NewKey returns it; all other functions return fingerprints and
// hints. Creating, listing and revoking keys is the task of server/shop; answering requests is the task of server/edge.
package auth
