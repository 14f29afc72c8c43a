-- Gives the lock back if it is still ours.
--
-- KEYS 1 lock
-- ARGV 1 owner
-- Returns {'ok'}.
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return { 'ok' }
