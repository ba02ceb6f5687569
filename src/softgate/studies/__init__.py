"""What softgate measures about functions and models: one package or module per public function."""
