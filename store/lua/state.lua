-- Moves a run from one of some states to another.
--
-- KEYS 1 manifest  2 tasks  3 beats; the latter two only with a new state that
--      takes no commits
-- ARGV 1 new state  2 reason  3… the states it may be in; none: any
-- Returns {'ok'}, {'fenced'} or {'state', the state it is in}.
--
-- Where nothing more is taken nothing is under way: with the list of tasks gone
-- workers skip what they find in a queue, whether a scheduler is at work or not.
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return { 'fenced' } end
local may = #ARGV == 2
for i = 3, #ARGV do may = may or ARGV[i] == state end
if not may then return { 'state', state } end
redis.call('HSET', KEYS[1], 'state', ARGV[1], 'reason', ARGV[2])
for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
return { 'ok' }
