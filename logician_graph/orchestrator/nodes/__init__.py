"""The nodes of the state machine, one file each. A node reads the state, writes the ledger, returns the next state."""
