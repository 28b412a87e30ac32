package store

// Unkept returns the configuration with the keeping of prepared statements turned off.
func (c Config) Unkept() Config {
	c.unkept = true
	return c
}
