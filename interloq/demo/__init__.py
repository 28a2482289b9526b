"""The main job, end to end, on conversations that come with the package: what `interloq demo` shows."""
