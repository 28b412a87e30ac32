package monitor

import (
	"bytes"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/sync/singleflight"
)

// showMetrics serves metrics without authentication. Concurrent requests share one text, which is
// not compressed: that would take a megabyte for each. A slow reader holds only the text.
func showMetrics(metrics prometheus.Gatherer, log *slog.Logger) http.Handler {
	var scrapes singleflight.Group
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
		text, err, _ := scrapes.Do(string(format), func() (any, error) { return encode(metrics, format) })
		if err != nil {
			log.ErrorContext(r.Context(), "the metrics cannot be gathered", "error", err)
			writeText(w, http.StatusInternalServerError, "The metrics cannot be gathered; the log has the cause.")
			return
		}
		w.Header().Set("Content-Type", string(format))
		_, _ = w.Write(text.([]byte))
	})
}

func encode(metrics prometheus.Gatherer, format expfmt.Format) ([]byte, error) {
	families, err := metrics.Gather()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, format)
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return nil, err
		}
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		if err := closer.Close(); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}
