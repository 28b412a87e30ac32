package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/webhooks"
	"go.storefront.example/worker/signature"
)

const receiverName = "dev receiver"

const maxEventBytes = 4 << 20

// receiver verifies webhooks in place of an owner's server, and calls report with each.
type receiver struct {
	listener net.Listener
	server   *http.Server
	report   func(received)
	secret   string // the secret of the receiver's webhook and of notices; set before run
}

type received struct {
	Attempt  string `json:"-"`
	Verified bool   `json:"-"`
	About    string `json:"-"`
	// Type and Data come from the body. Data is the object that the event is about.
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

func newReceiver(report func(received)) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	r := &receiver{listener: l, report: report}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	return r, nil
}

func (r *receiver) url() string { return "http://" + r.listener.Addr().String() + "/webhooks" }

func (r *receiver) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = r.server.Close() })
	defer stop()
	if err := r.server.Serve(r.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("receive webhooks: %w", err)
	}
	return nil
}

// register creates the receiver's webhook in a store, and deletes the one of an earlier start.
func (r *receiver) register(ctx context.Context, o admin.API, storeName string) error {
	out, err := o.ListWebhooks(ctx, &adminv1.ListWebhooksRequest{Store: storeName})
	if err != nil {
		return err
	}
	others := 0
	for _, w := range out.GetWebhooks() {
		if w.GetDescription() != receiverName {
			others++
			continue
		}
		if _, err := o.DeleteWebhook(ctx, &adminv1.DeleteWebhookRequest{Id: w.GetId()}); err != nil {
			return err
		}
	}
	// If the owner has registered the maximum number of webhooks, the receiver gets only notices.
	if others == webhooks.Max {
		r.secret = signature.NewSecret()
		return nil
	}
	made, err := o.CreateWebhook(ctx, &adminv1.CreateWebhookRequest{Store: storeName, Url: r.url(), Description: receiverName})
	if err != nil {
		return err
	}
	r.secret = made.GetSecret()
	return nil
}

// ServeHTTP uses the content only if the signature is right.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxEventBytes))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	if err := signature.Verify(request.Header.Get(signature.Header), body, r.secret, time.Now(), signature.Tolerance); err != nil {
		r.report(received{Type: request.Header.Get(signature.EventTypeHeader), Attempt: request.Header.Get(signature.AttemptHeader)})
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	got := received{Attempt: request.Header.Get(signature.AttemptHeader), Verified: true, About: admin.EventSummary(body)}
	if err := json.Unmarshal(body, &got); err != nil {
		http.Error(w, "the body is no event", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
	r.report(got)
}
