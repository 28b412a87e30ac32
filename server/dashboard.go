package server

import (
	"go.storefront.example/ent/store"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/shop"
)

// HasDashboard tells whether the operator's listener serves the dashboard: it does when the
// operator's side is on.
func (s *Server) HasDashboard() bool { return s.operator != nil }

// dashboardMounts is the stores' dashboard, which lets members in by itself.
func (s *Server) dashboardMounts() []mount {
	rules := shop.New(s.config.Store, s.config.Shop)
	pages := dashboard.New(dashboard.Config{
		Operator: admin.New(s.config.Store, rules), Shop: rules, Now: s.config.Store.Now, Unreachable: store.IsUnreachable, Logger: s.config.Logger,
	})
	return []mount{{dashboard.Path, pages}, {dashboard.Path + "/", pages}}
}
