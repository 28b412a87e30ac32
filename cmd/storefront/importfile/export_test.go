package importfile

func (o Options) InBatches(rows int) Options {
	o.batchRows = rows
	return o
}
