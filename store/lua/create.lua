-- Claims a name and writes the manifest of its first or next epoch.
--
-- KEYS 1 names  2 numbers  3 manifest of the new epoch  4 graves
--      5 manifest of the epoch that is replaced, or of the new one again
-- ARGV 1 name  2 epoch  3 epoch to replace, or empty  4 manifest as JSON
--      5 revision  6… more fields of the manifest and their values
-- Returns {'ok', number, created in ms}, {'exists', epoch} when the name is
--      taken, {'fenced'} when it is not the epoch to replace that has it.
--
-- The same call again finds its own epoch and answers as the first time. A
-- name whose manifest is missing is free.
local name, epoch, old = ARGV[1], ARGV[2], ARGV[3]
local have = redis.call('HGET', KEYS[1], name)
if have == epoch then
  local head = redis.call('HMGET', KEYS[3], 'number', 'created')
  if head[1] then return { 'ok', head[1], head[2] } end
elseif old ~= '' then
  if have ~= old then return { 'fenced' } end
elseif have then
  local prefix = string.sub(KEYS[3], 1, -(#epoch + #'}:manifest' + 1))
  if redis.call('EXISTS', prefix .. have .. '}:manifest') == 1 then
    return { 'exists', have }
  end
end
redis.call('SCARD', KEYS[4])
local now = redis.call('TIME')
local created = now[1] .. string.format('%03d', math.floor(tonumber(now[2]) / 1000))
local number = redis.call('HINCRBY', KEYS[2], name, 1)
redis.call('HSET', KEYS[3], 'state', 'running', 'reason', '', 'rev', ARGV[5], 'number', number,
  'created', created, 'manifest', ARGV[4])
for i = 6, #ARGV, 2 do redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1]) end
if old ~= '' then redis.call('SADD', KEYS[4], name .. '.' .. old) end
redis.call('HSET', KEYS[1], name, epoch) -- the step that counts
if old ~= '' then redis.call('DEL', KEYS[5]) end
return { 'ok', tostring(number), created }
