/** This package's version, as in its package.json; a test compares them. */
export const version = "2026.11.0";
