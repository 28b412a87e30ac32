package shard

import "github.com/lib/pq"

// Citus commits in two phases when tables that it knows are written on two nodes. A change of a store, a key or a webhook
// writes a table that it does not know, beside its entry in the distributed journal: killed between its two commits, the
// coordinator would leave one without the other. So each change of such a row also writes to phasesTable, a table of
// the coordinator that Citus knows. It stays empty, so that nobody waits for anybody.
const phasesTable = "two_phases"

// InTwoPhases lists the tables of the coordinator whose rows change together with distributed ones.
func InTwoPhases() []string { return []string{"stores", "api_keys", "webhooks"} }

// phases returns the steps of Apply that make changes of the tables of InTwoPhases commit in two phases.
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
