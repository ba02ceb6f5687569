"""Records of results, the files and texts they are written to, and the packages that reads need."""
