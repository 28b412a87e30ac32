package main

import (
	"context"
	"strconv"
)

// side is one of the two services as a process of its own, so that its processor time is its own.
type side struct {
	*process
	kind, address string
}

// startSide starts a side by running this program anew, and waits until it serves.
func startSide(ctx context.Context, kind string, db *database, conns int) (*side, error) {
	p, address, err := startSelf(ctx, db.url, "subject", kind, "--conns="+strconv.Itoa(conns))
	if err != nil {
		return nil, err
	}
	return &side{p, kind, address}, nil
}

func (s *side) startProfile(path string) error {
	_, err := s.ask(askStart + path)
	return err
}

func (s *side) stopProfile() error {
	_, err := s.ask(askStop)
	return err
}
