-- Writes fields of one of a run's hashes while the run exists.
--
-- KEYS 1 manifest  2 hash
-- ARGV field, value, field, value, …
-- Returns {'ok'} or {'fenced'}.
if redis.call('EXISTS', KEYS[1]) == 0 then return { 'fenced' } end
for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
return { 'ok' }
