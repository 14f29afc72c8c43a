-- Commit of values at single n. Runs after admit.lua, origin.lua and
-- claims.lua.
--
-- KEYS 1 manifest  2 counts  3 points  4 their CRCs  5 disputes
-- ARGV 1 sweep  2 claimant  3… for each point: n, value in decimal, CRC as 8
--      hex digits; then those of origin.lua
-- Returns a refusal of admit, {'corrupt', key}, or {'ok', stored, same, 0, k…}
--      with the k, from 0, of the disputed points.
local sweep, who = ARGV[1], ARGV[2]
local stop = admit(KEYS[1], sweep)
if stop then return stop end
local noted = origin()
redis.call('HLEN', KEYS[3])
redis.call('HLEN', KEYS[4])
redis.call('HLEN', KEYS[5])
if not counters(KEYS[2], sweep) then return { 'corrupt', KEYS[2] } end

local claims = claimsof(KEYS[5])
local act, same = {}, 0
for k = 0, (#ARGV - 11) / 3 - 1 do
  local n, value, crc = ARGV[3 + 3 * k], ARGV[4 + 3 * k], ARGV[5 + 3 * k]
  local have = redis.call('HGET', KEYS[3], n)
  local what = 'new'
  if have then
    what = claims.judge('n' .. n, who, (redis.call('HGET', KEYS[4], n) or '') .. have, crc .. value)
  end
  if what == 'same' then
    same = same + 1
  else
    act[#act + 1] = { k, n, value, crc, what }
  end
end

local stored, new, repeated, open = 0, 0, same, 0
local out = { 'ok', 0, 0, 0 }
for _, t in ipairs(act) do
  local k, n, value, crc, what = t[1], t[2], t[3], t[4], t[5]
  if what == 'new' or what == 'replaced' then
    redis.call('HSET', KEYS[4], n, crc) -- first, as the value makes it finished
    redis.call('HSET', KEYS[3], n, value)
    stored = stored + 1
  end
  if what == 'new' then
    new = new + 1
  elseif what == 'kept' or what == 'replaced' then
    claims.drop('n' .. n)
    open = open - 1
    repeated = repeated + 1
    if what == 'kept' then same = same + 1 end
  else
    claims.note('n' .. n, who, crc .. value)
    if what == 'opened' then open = open + 1 end
    out[#out + 1] = k
  end
end
raise(KEYS[2], sweep .. ':cells', new)
raise(KEYS[2], sweep .. ':values', new)
raise(KEYS[2], sweep .. ':repeated', repeated)
raise(KEYS[2], sweep .. ':disputed', open)
out[2], out[3] = stored, same
return noted(out)
