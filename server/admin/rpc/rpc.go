// Package rpc is the operator's side on the wire: the services of storefront.admin.v1 over an
// admin.Operator, and the client that does the same from elsewhere. Both ends stand in one file a
// resource, beside the message that travels between them, so that neither can change alone.
//
//	command ─► Client ─► Connect ─► Gate ─► services ─► admin.Operator ─► shop
//
// It stands apart from server/admin, which knows no protocol. It has no rules: it refuses who is
// not the operator, and a request that cannot be read; the rest is the shop's to refuse, and comes
// back to the client's caller as the same refusal.
package rpc
