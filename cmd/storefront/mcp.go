package main

import (
	"go.storefront.example/cmd/storefront/mcp"
)

type mcpCmd struct {
	Write bool `help:"Also offer operations that change data, if the key's scopes allow them."`
}

// Run answers an agent's requests on standard input and output until the input ends.
func (c *mcpCmd) Run(s *invocation) error {
	url, _ := s.env("SHOP_URL")
	key, err := secretOf(s.env, "SHOP_KEY", "")
	if err != nil {
		return usageError{err}
	}
	if url == "" || key == "" {
		return usage("set SHOP_URL to the address of the service, such as https://api.example.com, and SHOP_KEY to an API key, or " +
			"SHOP_KEY_FILE to a file with one")
	}
	server, err := mcp.New(s.ctx, mcp.Options{URL: url, Key: key, Write: c.Write, Version: buildOf().Version, Log: s.errs})
	if err != nil {
		return err
	}
	return mcp.Serve(s.ctx, server, s.in, s.out)
}
