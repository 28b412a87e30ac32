package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of processor times in /proc, the same on every Linux (proc(5), sysconf(3)).
const tick = 10 * time.Millisecond

// stat is what /proc/PID/stat has of a process.
type stat struct {
	name   string
	parent int
	used   time.Duration // by the process
	reaped time.Duration // by its children that have ended
}

// Places of fields after the name, from 0 (proc(5)).
const (
	placeParent       = 1
	placeUser         = 11
	placeSystem       = 12
	placeReapedUser   = 13
	placeReapedSystem = 14
)

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	// The name stands in parentheses and may hold any character.
	start, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if start < 0 || end < start {
		return stat{}, fmt.Errorf("/proc/%d/stat cannot be read", pid)
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) <= placeReapedSystem {
		return stat{}, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	number := func(place int) time.Duration {
		n, convErr := strconv.ParseInt(string(fields[place]), 10, 64)
		err = errors.Join(err, convErr)
		return time.Duration(n)
	}
	s := stat{
		name:   string(text[start+1 : end]),
		parent: int(number(placeParent)),
		used:   (number(placeUser) + number(placeSystem)) * tick,
		reaped: (number(placeReapedUser) + number(placeReapedSystem)) * tick,
	}
	return s, err
}

// processCPU is the processor time that a process used so far.
func processCPU(pid int) (time.Duration, error) {
	s, err := readStat(pid)
	return s.used, err
}

// clusterOf finds PostgreSQL's main process by one that serves a connection; 0 when the server
// does not run on this machine, as far as can be seen.
func clusterOf(backend int) int {
	s, err := readStat(backend)
	if err != nil || s.name != "postgres" {
		return 0
	}
	if main, err := readStat(s.parent); err != nil || main.name != "postgres" {
		return 0
	}
	return s.parent
}

// clusterCPU is the processor time that all processes of a PostgreSQL server used so far.
func clusterCPU(main int) (time.Duration, error) {
	if main == 0 {
		return 0, errors.New("the database server runs elsewhere")
	}
	s, err := readStat(main)
	if err != nil {
		return 0, err
	}
	sum := s.used + s.reaped
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// One that ended meanwhile is counted as reaped, next time.
		if s, err := readStat(pid); err == nil && s.parent == main {
			sum += s.used
		}
	}
	return sum, nil
}
