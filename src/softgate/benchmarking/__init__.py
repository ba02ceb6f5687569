"""What each activation costs on this machine: definitions, rounds, records."""
