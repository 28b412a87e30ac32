package importfile

// InBatches gives a short file several batches.
func (o Options) InBatches(rows int) Options {
	o.batchRows = rows
	return o
}
