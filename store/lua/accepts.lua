-- The states of a run that take commits, as State.Accepts has them.
local accepts = { running = true, paused = true, failed = true, complete = true }

