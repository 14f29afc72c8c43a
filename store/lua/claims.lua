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
  -- stored value) or 'replaced' (decided for mine, which is not stored yet); and
  -- for the last two whether more than half of all votes are for mine. author is
  -- the quoted ID of who stored the cell, or nil: it has no second vote for it.
  function t.judge(addr, who, stored, mine, author)
    load()
    local c = claims[addr]
    if not c then
      if stored == mine then return 'same' end
      claims[addr] = { [who] = mine }
      return 'opened'
    end
    c[who] = mine
    local votes, all = { [stored] = 1 }, 1
    for by, v in pairs(c) do
      if not (author and v == stored and idof(by) == author) then
        votes[v], all = (votes[v] or 0) + 1, all + 1
      end
    end
    for v, k in pairs(votes) do
      if v ~= mine and k >= votes[mine] then return 'disputed' end
    end
    return mine == stored and 'kept' or 'replaced', 2 * votes[mine] > all
  end

  -- losers lists who spoke for another value than mine about an address, as
  -- {quoted ID, value}. The author is among them only when its value differs from
  -- mine in both CRC and bytes: what differs in one of them was damaged where it
  -- is stored.
  function t.losers(addr, stored, mine, author)
    local out = {}
    for by, v in pairs(claims[addr]) do
      local id = idof(by)
      if v ~= mine and id then out[#out + 1] = { id, v } end
    end
    if author and string.sub(stored, 1, 8) ~= string.sub(mine, 1, 8) and string.sub(stored, 9) ~= string.sub(mine, 9) then
      out[#out + 1] = { author, stored }
    end
    return out
  end

  -- mate returns the quoted ID of another who claims what who does, or nil.
  function t.mate(addr, who, mine)
    for by, v in pairs(claims[addr]) do
      if by ~= who and v == mine then return idof(by) end
    end
  end

  -- note stores one claim, drop removes all claims about an address.
  function t.note(addr, who, mine) redis.call('HSET', key, addr .. ' ' .. who, mine) end
  function t.drop(addr)
    for who in pairs(claims[addr]) do redis.call('HDEL', key, addr .. ' ' .. who) end
    claims[addr] = nil
  end
  return t
end
