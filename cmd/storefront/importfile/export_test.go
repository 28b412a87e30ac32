package importfile

// InBatches returns options with few rows in a batch, so that a short file has several batches.
func (o Options) InBatches(rows int) Options {
	o.batchRows = rows
	return o
}
