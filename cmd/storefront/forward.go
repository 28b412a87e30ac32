package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/worker/egress"
	"go.storefront.example/worker/signature"
)

// forwarding is the setting of what forwards events to an address of this machine or network.
type forwarding struct {
	ForwardTo string `required:"" placeholder:"URL" help:"Where to post the events: http or https, private and local addresses included; localhost:3000/hooks is enough."`
}

// address is where to post to.
func (f forwarding) address() (string, error) {
	url := f.ForwardTo
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	if err := egress.CheckURL(url, devTargets); err != nil {
		return "", usage("--forward-to: %w", err)
	}
	return url, nil
}

// forwarder posts events as a worker delivers them: with the same client, headers and bytes. Goroutines
// may share it.
type forwarder struct {
	to, secret string
	client     *egress.Client
}

func newForwarder(to, secret string) *forwarder {
	return &forwarder{to, secret, egress.New(egress.Options{Policy: devTargets})}
}

// post makes the first attempt of a delivery.
func (f *forwarder) post(ctx context.Context, e *adminv1.Event) egress.Result {
	body := []byte(e.GetPayload())
	return f.client.Post(ctx, f.to, signature.Headers(f.secret, time.Now(), e.GetId(), e.GetType(), 1, body), body)
}

// forwarded is the line that shows what became of an event.
func forwarded(e *adminv1.Event, r egress.Result) string {
	result := "FAILED: " + r.Problem
	if r.Succeeded() {
		result = strconv.Itoa(r.Status)
	}
	return fmt.Sprintf("%s  → %s in %d ms", described(e), result, r.Duration.Milliseconds())
}

// described is an event in a line.
func described(e *adminv1.Event) string {
	return fmt.Sprintf("%s  %-17s  %s  %s", when(e.GetCreatedAt()), e.GetType(), e.GetId(),
		visible(admin.About([]byte(e.GetPayload()))))
}

// listenSecret is the secret that forwarded events of a store are signed with. It is derived from what
// the caller has already, so that it is the same at every start and nothing needs to keep it: from the
// operator's token, else from the key of dev. Without either it is new each time.
func listenSecret(token string, dev *devFolder, storeID string) (string, error) {
	from := []byte(token)
	if token == "" && dev != nil {
		file, _ := keyFile(devDatabase)
		key, err := os.ReadFile(filepath.Join(dev.path, file))
		if err != nil {
			return "", fmt.Errorf("read the key of dev: %w", err)
		}
		from = key
	}
	if len(from) == 0 {
		return signature.NewSecret(), nil
	}
	mac := hmac.New(sha256.New, from)
	mac.Write([]byte("storefront listen\x00" + storeID))
	return signature.SecretPrefix + hex.EncodeToString(mac.Sum(nil)), nil
}
