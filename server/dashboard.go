package server

import (
	"go.storefront.example/ent/db"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard"
)

// HasDashboard reports whether the operator's listener serves the dashboard: it does if the
// operator's side is on.
func (s *Server) HasDashboard() bool { return s.operator != nil }

// dashboardMounts returns the stores' dashboard, which authenticates members by itself.
func (s *Server) dashboardMounts() []mount {
	pages := dashboard.New(dashboard.Config{
		Operator: admin.New(s.config.DB, s.config.Options), Now: s.config.DB.Now, Unreachable: db.IsUnreachable,
		Logger: s.config.Logger,
		Slots:  s.slots, Platform: s.config.Platform,
	})
	timed := s.timed(pages)
	return []mount{{dashboard.Path, timed}, {dashboard.Path + "/", timed}}
}
