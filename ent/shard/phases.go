package shard

import "github.com/lib/pq"

// phasesTable is an empty table on the coordinator that Citus knows. Each change of a store, a key or a webhook runs a
// statement on it, because Citus commits in two phases only if tables that it knows are written on two nodes. Otherwise a
// coordinator that is killed between its two commits would leave a changed row without its journal entry, or the entry without
// the row.
const phasesTable = "two_phases"

// InTwoPhases lists the coordinator's tables whose rows change together with distributed rows.
func InTwoPhases() []string { return []string{"stores", "api_keys", "webhooks"} }

// phases make phasesTable, and the triggers that write to it.
func phases() []step {
	all := []step{{"make the table " + phasesTable, "CREATE TABLE " + phasesTable + " (id integer PRIMARY KEY); " +
		"SELECT citus_add_local_table_to_metadata('" + phasesTable + "'); " +
		"CREATE FUNCTION commit_in_two_phases() RETURNS trigger LANGUAGE plpgsql AS " +
		"$$ BEGIN DELETE FROM " + phasesTable + " WHERE id = 0; RETURN NULL; END $$"}}
	for _, t := range InTwoPhases() {
		all = append(all, step{"make the trigger commit_in_two_phases of " + t, "CREATE TRIGGER commit_in_two_phases " +
			"AFTER INSERT OR UPDATE OR DELETE ON " + pq.QuoteIdentifier(t) + " FOR EACH ROW EXECUTE FUNCTION commit_in_two_phases()"})
	}
	return all
}
