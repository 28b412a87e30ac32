package main

import (
	"errors"
	"time"

	"github.com/prometheus/procfs"
)

// ticks is how many clock ticks make a second. /proc counts processor time in clock ticks: 100 a second on every Linux.
const ticks = 100

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// processStat returns the content of /proc/PID/stat. It fails on systems other than Linux.
func processStat(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

// processCPU returns the processor time that a process has used so far.
func processCPU(pid int) (time.Duration, error) {
	stat, err := processStat(pid)
	return seconds(stat.CPUTime()), err
}

// postmasterOf returns the process id of PostgreSQL's main process. backend is the id of a process that serves a connection.
// It returns 0 if the server seems to run on another machine.
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

// clusterCPU returns the processor time that all processes of a PostgreSQL server have used so far.
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
		// A process that ends after the main process was read is missing in this sum. The next call finds its time in the main
		// process's time.
		if stat, err := process.Stat(); err == nil && stat.PPID == postmaster {
			sum += stat.CPUTime()
		}
	}
	return seconds(sum), nil
}
