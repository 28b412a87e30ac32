package main

import (
	"context"
	"time"

	"go.storefront.example/ent/queue"
	"go.storefront.example/gen/ent"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/admin/rpc"
	"go.storefront.example/server/service"
)

// operations are what the operator's commands do: on the database in this process, or through a
// server. Each method is admin.Operator's, with the same refusals.
type operations interface {
	CreateStore(ctx context.Context, d service.StoreDraft) (*storefrontv1.Store, error)
	ListStores(ctx context.Context, limit int) ([]*storefrontv1.Store, error)
	GetStore(ctx context.Context, name string) (*storefrontv1.Store, error)
	UpdateStore(ctx context.Context, name string, c service.StoreChange) (*storefrontv1.Store, error)

	CreateProduct(ctx context.Context, storeName string, d service.ProductDraft) (*storefrontv1.Product, error)
	UpdateProduct(ctx context.Context, id string, c service.ProductChange) (*storefrontv1.Product, error)

	CreateOrder(ctx context.Context, storeName string, d service.OrderDraft) (*storefrontv1.Order, error)
	PayOrder(ctx context.Context, id string) (*storefrontv1.Order, error)
	FailOrder(ctx context.Context, id string) (*storefrontv1.Order, error)
	CancelOrder(ctx context.Context, id string) (*storefrontv1.Order, error)
	RefundOrder(ctx context.Context, id string) (*storefrontv1.Order, error)

	DisablePaymentLink(ctx context.Context, id string) (*storefrontv1.PaymentLink, error)

	CreateKey(ctx context.Context, storeName string, d service.KeyDraft) (service.Key, error)
	ListKeys(ctx context.Context, storeName string, limit int) ([]service.Key, error)
	RevokeKey(ctx context.Context, id string) (service.Key, error)

	CreateWebhook(ctx context.Context, storeName string, d service.WebhookDraft) (service.Webhook, error)
	ListWebhooks(ctx context.Context, storeName string, limit int) ([]service.Webhook, error)
	UpdateWebhook(ctx context.Context, id string, c service.WebhookChange) (service.Webhook, error)
	EnableWebhook(ctx context.Context, id string) (service.Webhook, error)
	DisableWebhook(ctx context.Context, id string) (service.Webhook, error)
	DeleteWebhook(ctx context.Context, id string) (service.Webhook, error)
	RotateSecret(ctx context.Context, id string) (service.Webhook, error)
	PingWebhook(ctx context.Context, id string) (queue.Entry, error)

	ListDeliveries(ctx context.Context, storeName string, which service.DeliverySearch) ([]queue.Entry, error)
	ListDeliveriesTo(ctx context.Context, which service.DeliverySearch) ([]queue.Entry, error)
	GetDelivery(ctx context.Context, id string) (service.Delivery, error)
	ResendDelivery(ctx context.Context, id string) (queue.Entry, error)
	ResendSince(ctx context.Context, webhookID string, since time.Time, poll time.Duration, progress func(queue.Resend)) (queue.Resend, error)

	ListActivity(ctx context.Context, storeName string, limit int) ([]*ent.ActivityEntry, error)

	CreateSignInLink(ctx context.Context, storeName string, d admin.SignInLinkDraft) (admin.SignInLink, error)
	ListSessions(ctx context.Context, storeName string, limit int) ([]admin.Session, error)
	RevokeSession(ctx context.Context, id string) (admin.Session, error)
	RevokeSessions(ctx context.Context, storeName, member string) (admin.Ended, error)
}

var (
	_ operations = (*admin.Operator)(nil)
	_ operations = (*rpc.Client)(nil)
)
