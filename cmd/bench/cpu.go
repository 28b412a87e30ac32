package main

import (
	"errors"
	"time"

	"github.com/prometheus/procfs"
)

// ticks is how many clock ticks of /proc make a second, on every Linux.
const ticks = 100

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// processStat reads /proc/PID/stat. It fails on systems other than Linux.
func processStat(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

func processCPU(pid int) (time.Duration, error) {
	stat, err := processStat(pid)
	return seconds(stat.CPUTime()), err
}

// postmasterOf returns PostgreSQL's main process, given one that serves a connection, or 0 if the server seems to run on
// another machine.
func postmasterOf(backend int) int {
	stat, err := processStat(backend)
	if err != nil || stat.Comm != "postgres" {
		return 0
	}
	if main, err := processStat(stat.PPID); err != nil || main.Comm != "postgres" {
		return 0
	}
	return stat.PPID
}

// clusterCPU is the time of all processes of a PostgreSQL server.
func clusterCPU(postmaster int) (time.Duration, error) {
	if postmaster == 0 {
		return 0, errors.New("the database server runs elsewhere")
	}
	main, err := processStat(postmaster)
	if err != nil {
		return 0, err
	}
	sum := main.CPUTime() + float64(main.CUTime+main.CSTime)/ticks
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	for _, process := range all {
		// The time of a process that ends meanwhile is in the main process's at the next call.
		if stat, err := process.Stat(); err == nil && stat.PPID == postmaster {
			sum += stat.CPUTime()
		}
	}
	return seconds(sum), nil
}
