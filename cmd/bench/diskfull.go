package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.storefront.example/ent/db/dbtest/cluster"
)

const (
	// diskSize is in the notation of mount(8). A new cluster takes half of it.
	diskSize = "160m"
	// fillRate is in customers a second, which soon use up the space in half-empty pages, where the database can write even on
	// a full disk.
	fillRate = 200
	// readyLimit limits the wait for the expected status of /readyz.
	readyLimit = 30 * time.Second
)

func playDiskFull(p *play) {
	disk, server := p.mount(), ""
	if p.sqlite {
		p.workspace.folder = disk
	} else {
		server = p.cluster(cluster.Options{Disk: disk}).URL()
	}
	s := p.openOn(server, shape{stores: 2})
	p.require(s.database.release(p.ctx)) // its server will be deleted
	p.require(s.serve(p.ctx))
	filler := filepath.Join(disk, "filler")
	var written []call
	var room time.Time
	read := p.watch(p.bystander(s), func() {
		written = p.underLoad(func() {
			p.wait(p.quietTime() / 2)
			p.require(fill(filler))
			full := time.Now()
			p.mustBecomeReady(s, http.StatusServiceUnavailable, "while the disk is full")
			p.wait(p.Span - time.Since(full))
			p.require(os.Remove(filler))
			room = time.Now()
			p.mustBecomeReady(s, http.StatusOK, "once there is room")
			p.wait(p.quietTime() + recoveryBound)
		}, p.creator(s, 0, fillRate))
	})
	p.logf("disk full for %s; writes: %s", p.Span, p.answerSummary(written))
	p.logf("reads: %s", p.answerSummary(read))
	served := p.countAnswers(written)[served]
	p.must(served < len(written), "the disk was full for some writes (%d of %d)", len(written)-served, len(written))
	p.mustRecover(written, room, time.Second, "after there is room")
	p.checkEveryEvent(s, written)
}

// mustBecomeReady makes it a condition that /readyz answers with status in time. moment ends the report's sentence, such as
// "while the disk is full".
func (p *play) mustBecomeReady(s *stage, status int, moment string) {
	began := time.Now()
	became, err := poll(p.ctx, readyLimit, func() (bool, error) { return s.readiness(p.ctx) == status, nil })
	p.require(err)
	p.must(became, "/readyz becomes %d %s (after %s)", status, moment, roundDuration(time.Since(began)))
}

// mount mounts a small disk in memory, or skips the scene if the machine does not allow that.
func (p *play) mount() string {
	folder := p.workspace.folder
	disk := filepath.Join(folder, "disk")
	p.require(os.Mkdir(disk, 0o700))
	mount := exec.CommandContext(p.ctx, "mount", "-t", "tmpfs", "-o", "size="+diskSize+",mode=1777", "storefront-scene", disk)
	text, err := mount.CombinedOutput()
	if err != nil {
		reason, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		panic(skipped(fmt.Sprintf("no small disk can be mounted: %v: %s", err, reason)))
	}
	p.cleanup(func() error { return exec.CommandContext(context.WithoutCancel(p.ctx), "umount", disk).Run() })
	// The user of the database server must be able to enter the folders.
	for at := folder; strings.HasPrefix(at, os.TempDir()) && at != os.TempDir(); at = filepath.Dir(at) {
		p.require(os.Chmod(at, 0o711))
	}
	return disk
}

func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, block := range [][]byte{make([]byte, 1<<20), make([]byte, 4<<10)} {
		for err = nil; err == nil; {
			_, err = file.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}
