package signin

// Fingerprint lets tests compute the stored fingerprint of a secret.
var Fingerprint = fingerprintOf
