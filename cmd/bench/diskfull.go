package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/db/dbtest/cluster"
)

const (
	// diskSize is the small disk's, in the notation of mount(8): a fresh cluster takes half of it.
	diskSize = "160m"
	// fillRate is how many customers are created in a second: what is left of half-empty pages is soon
	// used up.
	fillRate = 200
	// readyLimit bounds the wait for /readyz to tell what it is to tell.
	readyLimit = 30 * time.Second
	// unready is what /readyz answers while the database cannot be written.
	unready = 503
)

// playDiskFull fills the disk of the database under load, and makes room again.
func playDiskFull(ctx context.Context, p *play) (err error) {
	disk, err := mount(ctx, p.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmount(disk)) }()
	server := ""
	if p.on == onPostgres {
		c, err := p.cluster(ctx, cluster.Options{Disk: disk})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		server = c.URL()
	}
	s, err := p.open(ctx, server, disk, shape{stores: 2, keys: greedyKeys, products: 20, orders: 20, customers: 20})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.serve(ctx); err != nil {
		return err
	}
	return p.fillDisk(ctx, s, filepath.Join(disk, "filler"))
}

// mount mounts a small disk in memory.
func mount(ctx context.Context, folder string) (string, error) {
	disk := filepath.Join(folder, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		return "", err
	}
	said, err := exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", "size="+diskSize+",mode=1777", "storefront-scene", disk).CombinedOutput() //nolint:gosec // Its own folder.
	if err != nil {
		why, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
		return "", skip(fmt.Sprintf("no small disk can be mounted: %v: %s", err, why))
	}
	// The user of the database server passes through.
	for at := folder; strings.HasPrefix(at, os.TempDir()) && at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o711); err != nil { //nolint:gosec // Its name is all that others may pass.
			return "", errors.Join(err, unmount(disk))
		}
	}
	return disk, nil
}

func unmount(disk string) error {
	said, err := exec.CommandContext(context.Background(), "umount", disk).CombinedOutput() //nolint:gosec // Mounted before.
	if err != nil {
		return fmt.Errorf("unmount %s: %w: %s", disk, err, strings.TrimSpace(string(said)))
	}
	return nil
}

// fillDisk fills the disk while clients write and read, empties it, and draws the balance.
func (p *play) fillDisk(ctx context.Context, s *stage, filler string) error {
	creator, bystander := newCreator(s.api, fillRate, s.stores[0], 0), newBystander(s.api, s.stores[1])
	quiet, err := bystander.watch(ctx, p.calm())
	if err != nil {
		return err
	}
	creator.start(ctx)
	bystander.start(ctx)
	err = wait(ctx, p.calm()/2)
	var bytes int64
	if err == nil {
		bytes, err = fill(filler)
	}
	full := time.Now()
	unreadyAfter := time.Duration(0)
	for err == nil && (time.Since(full) < p.Span || unreadyAfter == 0 && time.Since(full) < readyLimit) {
		if unreadyAfter == 0 && s.readiness(ctx) == unready {
			unreadyAfter = time.Since(full)
		}
		err = wait(ctx, settlePause)
	}
	last := s.readiness(ctx)
	err = errors.Join(err, os.Remove(filler))
	room := time.Now()
	readyAfter := time.Duration(0)
	for err == nil && (time.Since(room) < p.calm()+recoveryBound || readyAfter == 0 && time.Since(room) < readyLimit) {
		if readyAfter == 0 && s.readiness(ctx) == 200 {
			readyAfter = time.Since(room)
		}
		err = wait(ctx, settlePause)
	}
	written, read := creator.stop(), bystander.stop()
	if err != nil {
		return err
	}
	p.bystander(quiet, read)
	writes, reads := answers(written, &p.wrong), answers(read, &p.wrong)
	p.didf("disk filled with %d MB for %s: %d writes served, %d refused with 503; %d reads served, %d refused with 503",
		bytes>>20, p.Span, writes[served], writes[refused], reads[served], reads[refused])
	failing := 0
	for _, c := range written {
		if c.verdict != served {
			failing++
		}
	}
	p.must(failing > 0, "the disk was full for some writes (%d)", failing)
	p.must(unreadyAfter > 0, "/readyz becomes 503 while the disk is full (after %s; at its end %d)", short(unreadyAfter), last)
	p.must(readyAfter > 0, "/readyz becomes 200 again once there is room (after %s)", short(readyAfter))
	took := recovered(written, room, time.Second)
	p.mustFast(took <= recoveryBound, "every write succeeds from %s after there is room (%s)", recoveryBound, fine(took))
	return p.foundAll(ctx, s, written)
}

// foundAll looks for every acknowledged write and its event.
func (p *play) foundAll(ctx context.Context, s *stage, written []call) (err error) {
	db, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	events, err := eventsOf(ctx, db)
	if err != nil {
		return err
	}
	for _, c := range written {
		if c.verdict == served && events[c.made] == uuid.Nil {
			p.lost.add("acknowledged write or its event", 1)
		}
	}
	return nil
}

// fill writes a file until the disk is full and returns its size.
func fill(path string) (size int64, err error) {
	file, err := os.Create(path) //nolint:gosec // Its own folder.
	if err != nil {
		return 0, err
	}
	for _, block := range [][]byte{make([]byte, 1<<20), make([]byte, 4<<10)} {
		for err == nil {
			var n int
			n, err = file.Write(block)
			size += int64(n)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return size, errors.Join(err, file.Close())
		}
		err = nil
	}
	return size, file.Close()
}
