package main

import (
	"errors"
	"time"

	"github.com/prometheus/procfs"
)

// ticks is how many units of processor time make a second in /proc, the same on every Linux.
const ticks = 100

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// processStat is what /proc/PID/stat has; an error on other systems than Linux.
func processStat(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	return process.Stat()
}

// processCPU is the processor time that a process has used so far.
func processCPU(pid int) (time.Duration, error) {
	stat, err := processStat(pid)
	return seconds(stat.CPUTime()), err
}

// postmasterOf finds PostgreSQL's main process by one that serves a connection; 0 when the server runs
// elsewhere, as far as can be seen.
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

// clusterCPU is the processor time that all processes of a PostgreSQL server have used so far.
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
		// One that ended meanwhile is among the main process's children next time.
		if stat, err := process.Stat(); err == nil && stat.PPID == postmaster {
			sum += stat.CPUTime()
		}
	}
	return seconds(sum), nil
}
