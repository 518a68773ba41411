package opt

// ScanProgress is how far a scan has come; entity exports it.
type ScanProgress struct {
	Evaluated    int     // items read and charged, of whatever entity
	Found        int     // those among them that the scan is about and that passed its filter
	Pages        int     // answers of DynamoDB
	Segments     int     // parts that are read at the same time; 1 without entity.Segments
	SegmentsDone int     // parts that have been read to their end
	ReadUnits    float64 // read capacity units consumed
}
