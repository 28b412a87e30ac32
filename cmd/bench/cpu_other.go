//go:build !linux

package main

import (
	"errors"
	"time"
)

var errNoCPU = errors.New("processor times are read on Linux only")

// processCPU is the processor time that a process used so far; it is known on Linux only.
func processCPU(int) (time.Duration, error) { return 0, errNoCPU }

func clusterOf(int) int { return 0 }

func clusterCPU(int) (time.Duration, error) { return 0, errNoCPU }
