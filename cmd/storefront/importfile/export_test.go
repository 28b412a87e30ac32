package importfile

// InBatches returns options with which a batch has few rows, so that rows of a short file are of several.
func (o Options) InBatches(rows int) Options {
	o.batchRows = rows
	return o
}
