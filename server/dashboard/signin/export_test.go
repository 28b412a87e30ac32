package signin

// Fingerprint is what the database holds of a secret.
var Fingerprint = fingerprintOf
