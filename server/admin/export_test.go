package admin

// Fingerprint is what is kept of a secret.
var Fingerprint = fingerprintOf
