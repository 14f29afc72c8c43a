-- Lists the workers and forgets those that were silent too long.
--
-- KEYS 1 workers
-- ARGV 1 longest silence in ms
-- Returns {'ok', worker, value, worker, value, …}.
local now = redis.call('TIME')
local ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
local all = redis.call('HGETALL', KEYS[1])
local out = { 'ok' }
for i = 1, #all, 2 do
  local at = tonumber(string.match(all[i + 1], '^%d+ (%d+) ') or '0')
  if ms - at > tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[1], all[i])
  else
    out[#out + 1] = all[i]
    out[#out + 1] = all[i + 1]
  end
end
return out
