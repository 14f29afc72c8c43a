-- Opens cells and points of a sweep again, so that they are computed anew.
--
-- KEYS 1 manifest  2 clips  3 disputes  4 points  5 their CRCs
-- ARGV 1 sweep  2 prefix of the run's keys  3 number of cells, then chunk and
--      bit of each, then the n of the points
-- Returns {'ok', the revision now}, {'fenced'}, {'nosweep'} or
--      {'corrupt', key}.
--
-- The run has no result and a new revision, so that whoever leads it reads it
-- again; a complete or halted one is running. This is written first. Of what was broken off after it nothing worse is left than
-- a run that is looked at once more.
local head = redis.call('HMGET', KEYS[1], 'state', 'rev', 'plan:' .. ARGV[1])
if not head[1] then return { 'fenced' } end
if not head[3] then return { 'nosweep' } end
if not string.match(head[2] or '', '^%d+$') then return { 'corrupt', KEYS[1] } end
for i = 2, 5 do redis.call('HLEN', KEYS[i]) end
local count = tonumber(ARGV[3])
local function key(kind, k) return ARGV[2] .. kind .. ARGV[1] .. ':' .. ARGV[4 + 2 * k] end
for k = 0, count - 1 do
  local done = redis.call('STRLEN', key('done:', k))
  if done ~= 0 and done ~= 512 then return { 'corrupt', key('done:', k) } end
  redis.call('STRLEN', key('crc:', k))
end

if head[1] == 'complete' or head[1] == 'halted' then
  redis.call('HSET', KEYS[1], 'state', 'running', 'reason', '')
end
redis.call('HDEL', KEYS[1], 'result')
local rev = redis.call('HINCRBY', KEYS[1], 'rev', 1)

local gone = {}
for k = 0, count - 1 do
  local chunk, bit = ARGV[4 + 2 * k], ARGV[5 + 2 * k]
  local done, crc = key('done:', k), key('crc:', k)
  if redis.call('GETBIT', done, bit) == 1 then redis.call('SETBIT', done, bit, 0) end
  -- The CRC goes after the bit that it belongs to.
  if redis.call('STRLEN', crc) >= 4 * (bit + 1) then redis.call('SETRANGE', crc, 4 * bit, '\0\0\0\0') end
  redis.call('HDEL', KEYS[2], chunk .. '/' .. bit)
  gone[chunk .. '/' .. bit] = true
end
for i = 4 + 2 * count, #ARGV do
  redis.call('HDEL', KEYS[4], ARGV[i])
  redis.call('HDEL', KEYS[5], ARGV[i])
  gone['n' .. ARGV[i]] = true
end
for _, field in ipairs(redis.call('HKEYS', KEYS[3])) do
  local addr = string.match(field, '^(%S+) ')
  if addr and gone[addr] then redis.call('HDEL', KEYS[3], field) end
end
return { 'ok', rev }
