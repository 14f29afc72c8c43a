-- Shared by the commit scripts: what happens when a finished cell comes again.
--
-- Disputes are a hash: "address claimant" → 8 hex digits of CRC, then the
-- bytes. The value in the ledger has one vote, every claim has one, and a
-- claimant has one claim at a time. A dispute ends when the value just claimed
-- has more votes than any other; that takes two, for the stored one has one.
local function claimsof(key)
  local claims
  local t = {}

  local function load()
    if claims then return end
    claims = {}
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
      local addr, who = string.match(all[i], '^(%S+) (.*)$')
      if addr then
        claims[addr] = claims[addr] or {}
        claims[addr][who] = all[i + 1]
      end
    end
  end

  -- judge weighs a repeated cell. It returns 'same' (no dispute, equal),
  -- 'opened' (a new dispute), 'disputed' (still open), 'kept' (decided for the
  -- stored value) or 'replaced' (decided for mine, which is not stored yet).
  function t.judge(addr, who, stored, mine)
    load()
    local c = claims[addr]
    if not c then
      if stored == mine then return 'same' end
      claims[addr] = { [who] = mine }
      return 'opened'
    end
    c[who] = mine
    local votes = { [stored] = 1 }
    for _, v in pairs(c) do votes[v] = (votes[v] or 0) + 1 end
    for v, k in pairs(votes) do
      if v ~= mine and k >= votes[mine] then return 'disputed' end
    end
    return mine == stored and 'kept' or 'replaced'
  end

  -- note stores one claim, drop removes all claims about an address.
  function t.note(addr, who, mine) redis.call('HSET', key, addr .. ' ' .. who, mine) end
  function t.drop(addr)
    for who in pairs(claims[addr]) do redis.call('HDEL', key, addr .. ' ' .. who) end
    claims[addr] = nil
  end
  return t
end
