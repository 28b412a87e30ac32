package signin

var Fingerprint = fingerprintOf
