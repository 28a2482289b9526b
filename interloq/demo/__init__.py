"""The main workflow, end to end, on conversations that come with the package: see `interloq demo`."""
