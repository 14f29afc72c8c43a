-- Takes or renews the lock of the scheduler that leads a run.
--
-- KEYS 1 manifest  2 lock
-- ARGV 1 owner  2 time to live in ms
-- Returns {'ok', 1 when ARGV 1 holds the lock now, else 0} or {'fenced'}.
if redis.call('EXISTS', KEYS[1]) == 0 then return { 'fenced' } end
local owner = redis.call('GET', KEYS[2])
if owner and owner ~= ARGV[1] then return { 'ok', 0 } end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return { 'ok', 1 }
