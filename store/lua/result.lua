-- Stores the aggregator's result if the plan is still the one it belongs to.
--
-- KEYS 1 manifest
-- ARGV 1 revision  2 result
-- Returns {'ok'}, {'fenced'} or {'changed', the revision now}.
local rev = redis.call('HGET', KEYS[1], 'rev')
if not rev then return { 'fenced' } end
if rev ~= ARGV[1] then return { 'changed', rev } end
redis.call('HSET', KEYS[1], 'result', ARGV[2])
return { 'ok' }
