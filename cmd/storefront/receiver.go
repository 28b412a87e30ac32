package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"go.storefront.example/server/admin"
	"go.storefront.example/server/service"
	"go.storefront.example/worker/signature"
)

// receiverName is the description of the webhook that dev makes for its own receiver.
const receiverName = "dev receiver"

// maxEventBytes bounds what the receiver reads of a delivery.
const maxEventBytes = 4 << 20

// receiver is a webhook's other end on this machine: it verifies what arrives and tells of it. It
// is what an owner's server would be.
type receiver struct {
	listener net.Listener
	server   *http.Server
	tell     func(received)

	mu     sync.Mutex
	secret string
}

// received is one delivery, as dev tells of it.
type received struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Attempt  string `json:"attempt"`
	Verified bool   `json:"verified"`
	// Data is the object that the event concerns.
	Data json.RawMessage `json:"data"`
}

func newReceiver(tell func(received)) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	r := &receiver{listener: l, tell: tell}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	return r, nil
}

func (r *receiver) url() string { return "http://" + r.listener.Addr().String() + "/webhooks" }

// run receives until the context ends.
func (r *receiver) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = r.server.Close() })
	defer stop()
	if err := r.server.Serve(r.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("receive webhooks: %w", err)
	}
	return nil
}

// register makes the receiver's webhook in a store, in place of the one of an earlier start.
func (r *receiver) register(ctx context.Context, o *admin.Operator, storeName string) error {
	webhooks, err := o.ListWebhooks(ctx, storeName, service.MaxWebhooks)
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		if w.Description != receiverName {
			continue
		}
		if _, err := o.DeleteWebhook(ctx, w.ID.String()); err != nil {
			return err
		}
	}
	if len(webhooks) == service.MaxWebhooks && !hasReceiver(webhooks) {
		return nil // all five are the user's own
	}
	made, err := o.CreateWebhook(ctx, storeName, service.WebhookDraft{URL: r.url(), Description: receiverName})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = made.Secret
	return nil
}

func hasReceiver(webhooks []service.Webhook) bool {
	for _, w := range webhooks {
		if w.Description == receiverName {
			return true
		}
	}
	return false
}

// ServeHTTP verifies a delivery before it believes a word of it.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxEventBytes))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	secret := r.secret
	r.mu.Unlock()
	if err := signature.Verify(request.Header.Get(signature.Header), body, secret, time.Now(), signature.Tolerance); err != nil {
		r.tell(received{Type: request.Header.Get(signature.EventTypeHeader), Attempt: request.Header.Get(signature.AttemptHeader)})
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	got := received{Attempt: request.Header.Get(signature.AttemptHeader), Verified: true}
	if err := json.Unmarshal(body, &got); err != nil {
		http.Error(w, "the body is no event", http.StatusBadRequest)
		return
	}
	got.Verified = true
	w.WriteHeader(http.StatusNoContent)
	r.tell(got)
}
