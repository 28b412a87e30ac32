// Package auth tells who makes a request: it makes and recognises API keys, and admits requests
// by their key, their address and the limits of both (specification, Authentication and Limits).
//
// The order in which Gate.Admit looks at things is a contract:
//
//	address limit ─► Authorization ─► key ─────────────► counter ─► store's status ─► Principal
//	      │               │            │                    │             │
//	 rate_limited   api_key_missing  api_key_invalid   rate_limited  store_unavailable
//	                                 api_key_revoked
//	                                 api_key_expired
//
// A request with a known key counts on the key's counter whatever becomes of it; one with an
// unknown key, malformed or not, counts on its client: its IPv4 address or IPv6 /64. The client's
// limit, the key, its store and its counter take one statement.
//
// What limits anybody is counted in the database alone, so that any number of servers count
// together; memory holds only who is beyond the limit already, for the rest of the minute. The
// last use of each key is held in memory and written now and then by Gate.Run (lost with a killed
// process: at most half a minute's worth).
//
// The package refuses to keep, log or return the text of a key: past NewKey there are only
// fingerprints and hints. Creating, listing and revoking keys is not done here, nor is any answer
// written.
package auth
