-- Notes that what a worker in quarantine computed is open again, if the run is
-- still the one that was looked at.
--
-- KEYS 1 manifest  2 quarantine
-- ARGV 1 the revision that the run has unless somebody else changed it
--      2 the worker's field  3 what to note
-- Returns {'ok'} or {'fenced'}. Of a run that was changed it notes the same with ?
-- before it: cells may have come into the plan after it was read.
local rev = redis.call('HGET', KEYS[1], 'rev')
if not rev then return { 'fenced' } end
local state = ARGV[3]
if rev ~= ARGV[1] then state = '?' .. state end
redis.call('HSET', KEYS[2], ARGV[2], state)
return { 'ok' }
