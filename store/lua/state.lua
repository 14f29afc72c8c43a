-- Moves a run from one of some states to another.
--
-- KEYS 1 manifest
-- ARGV 1 new state  2 reason  3… the states it may be in; none: any
-- Returns {'ok'}, {'fenced'} or {'state', the state it is in}.
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return { 'fenced' } end
local may = #ARGV == 2
for i = 3, #ARGV do may = may or ARGV[i] == state end
if not may then return { 'state', state } end
redis.call('HSET', KEYS[1], 'state', ARGV[1], 'reason', ARGV[2])
return { 'ok' }
