package importfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/transfer"
)

// maxRowBytes exceeds maxLineBytes, because an order with many items takes more bytes in an export than in the request that
// created it.
const maxRowBytes = 16 << 20

// LoadRows sends an export's lines in batches and calls onBatch with each answer. The error for refused rows, or a line longer
// than maxRowBytes, has the file's name and the line's number.
func LoadRows(ctx context.Context, api API, store string, kind transfer.Kind, name string, in io.Reader,
	onBatch func(*adminv1.ImportResponse)) error {
	var batch []byte
	rows, before := 0, 0
	send := func() error {
		out, err := api.ImportRows(ctx, &adminv1.ImportRowsRequest{Store: store, Kind: string(kind), Lines: string(batch)})
		if apierr.Is(err, apierr.PayloadTooLarge) && rows == 1 {
			return fmt.Errorf("%s: %w", name, &LineError{Line: before + 1, Problem: tooLargeForServer})
		}
		if err != nil {
			return err
		}
		for _, bad := range out.GetRefused() {
			return fmt.Errorf("%s: %w", name,
				&LineError{Line: before + int(bad.GetIndex()) + 1, Column: bad.GetField(), Problem: bad.GetMessage()})
		}
		onBatch(out)
		before, rows, batch = before+rows, 0, batch[:0]
		return nil
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRowBytes)
	for lines.Scan() {
		if rows == transfer.BatchRows || rows > 0 && len(batch)+len(lines.Bytes()) > maxBatchBytes {
			if err := send(); err != nil {
				return err
			}
		}
		batch = append(append(batch, lines.Bytes()...), '\n')
		rows++
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s: %w", name, &LineError{Line: before + rows + 1, Problem: "is longer than 16 MiB"})
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case rows > 0:
		return send()
	}
	return nil
}
