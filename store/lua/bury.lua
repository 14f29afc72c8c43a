-- Removes a run's manifest and name, and notes that its keys are still to go.
--
-- KEYS 1 names  2 manifest  3 graves
-- ARGV 1 name  2 epoch
-- Returns 1. Doing it again changes nothing.
redis.call('SADD', KEYS[3], ARGV[1] .. '.' .. ARGV[2])
redis.call('DEL', KEYS[2])
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return 1
