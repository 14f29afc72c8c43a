-- Commit of values at single n. Runs after admit.lua, origin.lua, marks.lua and
-- claims.lua. Behind a CRC stands the number of the hand that stored the point,
-- and behind that the one that confirmed it, where they are known.
--
-- KEYS 1 manifest  2 counts  3 points  4 their CRCs  5 disputes
-- ARGV 1 sweep  2 claimant  3… for each point: n, value in decimal, CRC as 8
--      hex digits; then those of origin.lua
-- Returns a refusal of admit, {'quarantined'}, {'corrupt', key}, or {'ok', stored, same, stale,
--      k…} with the k, from 0, of the disputed points.
local sweep, who = ARGV[1], ARGV[2]
local stop = admit(KEYS[1], sweep)
if stop then return stop end
local marks = marksof(sweep)
if marks.quarantined(who) then return { 'quarantined' } end
local noted = origin()
marks.reads()
redis.call('HLEN', KEYS[3])
redis.call('HLEN', KEYS[4])
redis.call('HLEN', KEYS[5])
if not counters(KEYS[2], sweep) then return { 'corrupt', KEYS[2] } end

local claims = claimsof(KEYS[5])
local act, agreed, same, stale = {}, {}, 0, 0
for k = 0, (#ARGV - 14) / 3 - 1 do
  local n, value, crc = ARGV[3 + 3 * k], ARGV[4 + 3 * k], ARGV[5 + 3 * k]
  local have = redis.call('HGET', KEYS[3], n)
  local p = { k = k, n = n, value = value, crc = crc, what = 'new', mine = crc .. value }
  if have then
    local mark = redis.call('HGET', KEYS[4], n) or ''
    local by, chk = string.match(mark, '^%x+ (%d+) ?(%d*)$')
    p.by, p.chk, p.oldcrc = tonumber(by or '') or 0, tonumber(chk or '') or 0, string.sub(mark, 1, 8)
    p.stored, p.author = p.oldcrc .. have, marks.name(p.by)
    p.what, p.clear = claims.judge('n' .. n, who, p.stored, p.mine, p.author)
  end
  if not have and marks.check then
    stale = stale + 1 -- the first computation is to be one of the sweep's own way
  elseif p.what == 'same' then
    same = same + 1
    if marks.check and p.chk == 0 then agreed[#agreed + 1] = p end
  else
    act[#act + 1] = p
  end
end

-- mark writes the CRC of a point with its author and its checker.
local function mark(p, by, chk)
  local text = p.crc
  if by ~= 0 or chk ~= 0 then text = text .. string.format(' %d', by) end
  if chk ~= 0 then text = text .. string.format(' %d', chk) end
  redis.call('HSET', KEYS[4], p.n, text)
end

local stored, new, repeated, open, confirmed = 0, 0, same, 0, 0
local out = { 'ok', 0, 0, 0 }
local function confirm(p, by)
  local chk = marks.number()
  if chk ~= 0 then
    mark(p, by, chk)
    if (p.chk or 0) == 0 then confirmed = confirmed + 1 end
  end
end
for _, p in ipairs(agreed) do confirm(p, p.by) end
for _, p in ipairs(act) do
  local addr = 'n' .. p.n
  if p.what == 'new' then
    mark(p, marks.number(), 0) -- first, as the value makes it finished
    redis.call('HSET', KEYS[3], p.n, p.value)
    stored, new = stored + 1, new + 1
  elseif p.what == 'kept' or p.what == 'replaced' then
    if p.what == 'replaced' then
      local mate = claims.mate(addr, who, p.mine)
      local by = mate and marks.handof(mate) or 0
      mark(p, by, 0)
      redis.call('HSET', KEYS[3], p.n, p.value)
      stored = stored + 1
      confirm(p, by)
    else
      same = same + 1
      if p.chk == 0 then confirm(p, p.by) end
    end
    if p.clear then
      local losers = claims.losers(addr, p.stored, p.mine, p.author)
      for _, l in ipairs(losers) do l.lost, l.won = string.sub(l[2], 9), p.value end
      marks.expel(losers, addr, function() return 0 end, who)
    end
    claims.drop(addr)
    open = open - 1
    repeated = repeated + 1
  else
    marks.number() -- should its value win, it is known whose it is
    claims.note(addr, who, p.mine)
    if p.what == 'opened' then open = open + 1 end
    out[#out + 1] = p.k
  end
end
raise(KEYS[2], sweep .. ':cells', new)
raise(KEYS[2], sweep .. ':values', new)
raise(KEYS[2], sweep .. ':repeated', repeated)
raise(KEYS[2], sweep .. ':disputed', open)
raise(KEYS[2], sweep .. ':confirmed', confirmed)
out[2], out[3], out[4] = stored, same, stale
return noted(out)
