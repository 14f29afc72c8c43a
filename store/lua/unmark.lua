-- Takes back confirmations of cells and points by a worker that is not to be
-- believed any more.
--
-- KEYS 1 manifest  2 the chunk's string of checkers  3 CRCs of points
-- ARGV 1 number of cells, then bit and hand of each, then n and hand of
--      each point
-- Returns {'ok', how many} or {'fenced'}. What another hand has confirmed
-- meanwhile stays.
if redis.call('EXISTS', KEYS[1]) == 0 then return { 'fenced' } end
redis.call('STRLEN', KEYS[2])
redis.call('HLEN', KEYS[3])
local count, gone = tonumber(ARGV[1]), 0
for k = 0, count - 1 do
  local bit, hand = tonumber(ARGV[2 + 2 * k]), tonumber(ARGV[3 + 2 * k])
  local s = redis.call('GETRANGE', KEYS[2], 2 * bit, 2 * bit + 1)
  if s == string.char(math.floor(hand / 256), hand % 256) then
    redis.call('SETRANGE', KEYS[2], 2 * bit, '\0\0')
    gone = gone + 1
  end
end
for k = 2 + 2 * count, #ARGV, 2 do
  local text = redis.call('HGET', KEYS[3], ARGV[k]) or ''
  local head, hand = string.match(text, '^(%x+ %d+) (%d+)$')
  if hand == ARGV[k + 1] then
    redis.call('HSET', KEYS[3], ARGV[k], head)
    gone = gone + 1
  end
end
return { 'ok', gone }
