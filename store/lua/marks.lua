-- Shared by the commit scripts: who stored a cell, who confirmed it, and who must
-- not commit. The ARGV that it reads are described in origin.lua.
--
-- A hand is a worker with an algorithm; the hash hands numbers them from 1. Of
-- each chunk of the ledger there are two strings of 2 bytes a cell, big-endian:
-- by, the hand that stored the cell, and chk, the hand that confirmed it; 0 is
-- nobody. What they say of a cell that is not finished means nothing, so that
-- whoever opens a cell again need not touch them: whoever stores it clears chk
-- before its bit is set.
local function idof(claimant) return string.match(claimant, '^(".-[^\\]")') end

local function marksof(sweep)
  local at = #ARGV - 2
  local prefix, hand, check = ARGV[at], ARGV[at + 1], ARGV[at + 2] == '1'
  local hands, bad = prefix .. 'hands', prefix .. 'quarantine'
  local t = { check = check }
  local by, chk, bylen, chklen, grown
  local mine, names

  function t.quarantined(who)
    local id = idof(who)
    return id and redis.call('HEXISTS', bad, id) == 1
  end

  -- reads looks at every key that is written later. full is the length in cells
  -- that by and chk begin their lives with.
  function t.reads(chunk, full)
    redis.call('HLEN', hands)
    if not chunk then return end
    by, chk = prefix .. 'by:' .. sweep .. ':' .. chunk, prefix .. 'chk:' .. sweep .. ':' .. chunk
    bylen, chklen, grown = redis.call('STRLEN', by), redis.call('STRLEN', chk), full
  end

  local function two(n) return string.char(math.floor(n / 256), n % 256) end

  -- number returns that of this worker's hand. When there are too many it is
  -- 65535, which has no name.
  function t.number()
    if mine then return mine end
    mine = 0
    if hand ~= '' then
      mine = tonumber(redis.call('HGET', hands, hand) or '')
      if not mine then
        mine = redis.call('HLEN', hands) + 1
        if mine >= 65535 then mine = 65535 else redis.call('HSET', hands, hand, string.format('%d', mine)) end
      end
    end
    return mine
  end

  -- name returns the quoted ID behind a number, or nil; handof a number that the
  -- worker with this ID has, or 0.
  local function load()
    if names then return end
    names = {}
    local all = redis.call('HGETALL', hands)
    for i = 1, #all, 2 do names[tonumber(all[i + 1]) or 0] = idof(all[i]) end
  end
  function t.name(number)
    if number == 0 then return nil end
    load()
    return names[number]
  end
  function t.handof(id)
    load()
    for number, name in pairs(names) do
      if name == id and number > 0 then return number end
    end
    return 0
  end

  local function put(key, length, first, bytes)
    if length < 2 * grown and 2 * first + #bytes < 2 * grown then redis.call('SETRANGE', key, 2 * grown - 1, '\0') end
    redis.call('SETRANGE', key, 2 * first, bytes)
    return math.max(length, 2 * grown, 2 * first + #bytes)
  end

  -- author returns the quoted ID of who stored cell i, or nil.
  function t.author(i)
    local s = redis.call('GETRANGE', by, 2 * i, 2 * i + 1)
    if #s < 2 then return nil end
    local a, b = string.byte(s, 1, 2)
    return t.name(256 * a + b)
  end

  -- stored notes that this worker stores count cells from first on.
  function t.stored(first, count)
    local n = t.number()
    if n ~= 0 or bylen > 2 * first then bylen = put(by, bylen, first, string.rep(two(n), count)) end
    if chklen > 2 * first then
      local have = redis.call('GETRANGE', chk, 2 * first, 2 * (first + count) - 1)
      local none = string.rep('\0', #have)
      if have ~= none then redis.call('SETRANGE', chk, 2 * first, none) end
    end
  end

  -- confirmed notes that this worker confirms them, and returns how many of them
  -- nobody had confirmed.
  function t.confirmed(first, count)
    local n = t.number()
    if n == 0 then return 0 end
    local have = redis.call('GETRANGE', chk, 2 * first, 2 * (first + count) - 1)
    have = have .. string.rep('\0', 2 * count - #have)
    local new, out = 0, {}
    for k = 1, count do
      local s = string.sub(have, 2 * k - 1, 2 * k)
      if s == '\0\0' then new, s = new + 1, two(n) end
      out[k] = s
    end
    if new > 0 then chklen = put(chk, chklen, first, table.concat(out)) end
    return new
  end

  -- replaced notes that cell i has the value of the worker named id now, which
  -- this one confirms, and returns as confirmed does.
  function t.replaced(i, id)
    bylen = put(by, bylen, i, two(id and t.handof(id) or 0))
    if chklen > 2 * i then chklen = put(chk, chklen, i, '\0\0') end
    return t.confirmed(i, 1)
  end

  -- expel notes that workers lost a dispute. Each loser is {id, its value, the
  -- value that won}, values as words, at a place of the sweep.
  function t.expel(losers, addr, index, who)
    local now = redis.call('TIME')
    local ms = now[1] .. string.format('%03d', math.floor(tonumber(now[2]) / 1000))
    for _, l in ipairs(losers) do
      redis.call('HSETNX', bad, l[1], table.concat({ '?', sweep, addr, string.format('%d', index(l)), l.lost, l.won, ms, who }, ' '))
    end
  end
  return t
end
