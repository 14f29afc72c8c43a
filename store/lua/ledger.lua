-- Shared by the scripts that commit cells: one run of consecutive cells of one
-- chunk of the ledger.
--
-- KEYS 1 manifest  2 counts  3 done chunk  4 crc chunk  5 clips  6 disputes
--      7… where the bytes of the cells go (see the script)
-- ARGV 1 sweep  2 revision of the plan under which the work was given out
--      3 claimant  4 chunk number  5 bit of the first cell  6 number of cells
--      7 CRCs, 4 bytes big-endian a cell  8 numbers of n, likewise
--      9 clipped cells as "k lo hi k lo hi", k from 0; or empty
--      10 number of n of all cells  11… see the script
-- Returns a refusal of admit, {'quarantined'}, {'corrupt', key}, or
--      {'ok', stored, same, stale, k…} with the k of the disputed cells.
--
-- cells is a table of functions: check() reads every key that all or put will
-- write, so that a wrong type shows before the first write; bytes(k) returns
-- the bytes of cell k of this commit, stored(k) those in the store; put(k)
-- writes cell k; all() writes all cells at once; equal(), where it is there,
-- reports whether all stored bytes are those of this commit; width, where it is
-- there, is the bytes of a value. sealed is true when the bytes of a cell depend on
-- the plan, so that an older plan's cell is never taken.
--
-- The writes come in an order in which any number of the first of them does no
-- harm: bits after all that they vouch for, counters last. A script is written
-- to the append-only file as one transaction, but a Redis whose file was cut
-- short in the middle of one leaves its beginning there, and runs it together
-- with the next transaction when the file is loaded once more.
local function commit(cells, sealed)
  local stop, rev, plan = admit(KEYS[1], ARGV[1])
  if stop then return stop end
  local sweep, who, chunk = ARGV[1], ARGV[3], ARGV[4]
  local marks = marksof(sweep)
  if marks.quarantined(who) then return { 'quarantined' } end
  local first, count = tonumber(ARGV[5]), tonumber(ARGV[6])
  local crcs, sizes = ARGV[7], ARGV[8]

  local bits = redis.call('GET', KEYS[3])
  if bits and #bits ~= 512 then return { 'corrupt', KEYS[3] } end
  local crclen = redis.call('STRLEN', KEYS[4])
  redis.call('HLEN', KEYS[5])
  local disputes = redis.call('HLEN', KEYS[6])
  if not counters(KEYS[2], sweep) then return { 'corrupt', KEYS[2] } end
  local bad = cells.check()
  if bad then return { 'corrupt', bad } end

  -- The plan: chunk and bit of the sweep's last cell, then the addresses of the
  -- cells that it clips, at most two.
  local word = {}
  for w in string.gmatch(plan, '%S+') do word[#word + 1] = w end
  local crcwant = 16384
  if word[1] == chunk then crcwant = 4 * (tonumber(word[2]) + 1) end
  marks.reads(chunk, crcwant / 4)

  local clip = {}
  for k, lo, hi in string.gmatch(ARGV[9], '(%d+) (%d+) (%d+)') do
    clip[tonumber(k)] = lo .. ' ' .. hi
  end

  -- Bits, most significant first as SETBIT numbers them. Lua has no bitwise
  -- operators everywhere, so they are cut out by division.
  local fresh = not bits
  bits = bits or string.rep('\0', 512)
  local a, z = math.floor(first / 8), math.floor((first + count - 1) / 8)
  local function isset(i)
    return math.floor(string.byte(bits, math.floor(i / 8) + 1) / 2 ^ (7 - i % 8)) % 2 == 1
  end
  local untouched, complete = true, true
  local mask = {}
  for i = a, z do
    local lo, hi = math.max(first - 8 * i, 0), math.min(first + count - 1 - 8 * i, 7)
    local v = string.byte(bits, i + 1)
    mask[i] = 2 ^ (8 - lo) - 2 ^ (7 - hi)
    local part = math.floor(v / 2 ^ (7 - hi)) % 2 ^ (hi - lo + 1)
    if part ~= 0 then untouched = false end
    if part ~= 2 ^ (hi - lo + 1) - 1 then complete = false end
  end

  local function growcrc()
    if crclen < crcwant then
      redis.call('SETRANGE', KEYS[4], crcwant - 1, '\0')
      crclen = crcwant
    end
  end
  -- setbits adds to the bytes a…z what add holds; the added bits are clear
  -- before, so that adding is setting.
  local function setbits(add)
    local new = {}
    for i = a, z do new[#new + 1] = string.char(string.byte(bits, i + 1) + (add[i] or 0)) end
    new = table.concat(new)
    if fresh then
      redis.call('SET', KEYS[3], string.sub(bits, 1, a) .. new .. string.sub(bits, z + 2))
    else
      redis.call('SETRANGE', KEYS[3], a, new)
    end
  end

  -- The common case: nothing of it is there and the plan is the current one.
  if untouched and rev == ARGV[2] and not marks.check then
    cells.all()
    growcrc()
    redis.call('SETRANGE', KEYS[4], 4 * first, crcs)
    for k, extent in pairs(clip) do
      redis.call('HSET', KEYS[5], chunk .. '/' .. string.format('%d', first + k), extent)
    end
    marks.stored(first, count)
    setbits(mask)
    raise(KEYS[2], sweep .. ':cells', count)
    redis.call('HINCRBY', KEYS[2], sweep .. ':values', ARGV[10])
    return { 'ok', count, 0, 0 }
  end

  -- The other common case: all of it is there, from a task that was given out
  -- twice.
  if complete and rev == ARGV[2] and disputes == 0 and cells.equal and cells.equal()
    and redis.call('GETRANGE', KEYS[4], 4 * first, 4 * (first + count) - 1) == crcs then
    raise(KEYS[2], sweep .. ':repeated', count)
    if marks.check then raise(KEYS[2], sweep .. ':confirmed', marks.confirmed(first, count)) end
    return { 'ok', 0, count, 0 }
  end

  -- Cell by cell: first look at all of them, then write.
  local planclip = {}
  for i = 3, #word do planclip[word[i]] = true end
  local claims = claimsof(KEYS[6])
  local function hex(s) return string.format('%02x%02x%02x%02x', string.byte(s, 1, 4)) end
  local act, agreed, same, stale = {}, {}, 0, 0
  for k = 0, count - 1 do
    local i = first + k
    local addr = chunk .. '/' .. string.format('%d', i)
    if rev ~= ARGV[2] and (sealed or clip[k] or planclip[addr]) then
      stale = stale + 1
    elseif not isset(i) and marks.check then
      stale = stale + 1 -- the first computation is to be one of the sweep's own way
    elseif not isset(i) then
      act[#act + 1] = { k, addr, 'new' }
    else
      local mine = hex(string.sub(crcs, 4 * k + 1, 4 * k + 4)) .. cells.bytes(k)
      local crc = redis.call('GETRANGE', KEYS[4], 4 * i, 4 * i + 3)
      local stored = (#crc == 4 and hex(crc) or '') .. cells.stored(k)
      local author = disputes > 0 and marks.author(i) or nil
      local what, clear = claims.judge(addr, who, stored, mine, author)
      if what == 'same' then
        same = same + 1
        if marks.check then agreed[#agreed + 1] = i end
      else
        act[#act + 1] = { k, addr, what, mine, stored, author, clear }
      end
    end
  end

  -- The first value in which two cells differ, from 0, or −1 for records.
  local function difference(l)
    local width = cells.width
    if not width then
      l.lost, l.won = '-', '-'
      return -1
    end
    local p = 9
    while p <= #l[3] and string.byte(l[2], p) == string.byte(l[3], p) do p = p + 1 end
    local v = math.floor((math.min(p, #l[3]) - 9) / width)
    local function word(s)
      return (string.gsub(string.sub(s, 9 + v * width, 8 + (v + 1) * width), '.', function(c) return string.format('%02x', string.byte(c)) end))
    end
    l.lost, l.won = word(l[2]), word(l[3])
    if l.lost == '' then l.lost = '-' end
    return v
  end

  local stored, new, values, repeated, open, confirmed = 0, 0, 0, same, 0, 0
  for _, i in ipairs(agreed) do confirmed = confirmed + marks.confirmed(i, 1) end
  local add, disputed = {}, {}
  for _, t in ipairs(act) do
    local k, addr, what, mine = t[1], t[2], t[3], t[4]
    local i = first + k
    if what == 'new' or what == 'replaced' then
      cells.put(k)
      growcrc()
      redis.call('SETRANGE', KEYS[4], 4 * i, string.sub(crcs, 4 * k + 1, 4 * k + 4))
      stored = stored + 1
    end
    if what == 'new' then
      marks.stored(i, 1)
      new = new + 1
      local byte = math.floor(i / 8)
      add[byte] = (add[byte] or 0) + 2 ^ (7 - i % 8)
      if clip[k] then redis.call('HSET', KEYS[5], addr, clip[k]) end
      local s1, s2, s3, s4 = string.byte(sizes, 4 * k + 1, 4 * k + 4)
      values = values + ((s1 * 256 + s2) * 256 + s3) * 256 + s4
    elseif what == 'kept' or what == 'replaced' then
      if what == 'replaced' then
        confirmed = confirmed + marks.replaced(i, claims.mate(addr, who, mine))
      else
        confirmed = confirmed + marks.confirmed(i, 1)
      end
      if t[7] then
        local losers = claims.losers(addr, t[5], mine, t[6])
        for _, l in ipairs(losers) do l[3] = mine end
        marks.expel(losers, addr, difference, who)
      end
      claims.drop(addr)
      open = open - 1
      repeated = repeated + 1
      if what == 'kept' then same = same + 1 end
    else
      marks.number() -- should its value win, it is known whose it is
      claims.note(addr, who, mine)
      if what == 'opened' then open = open + 1 end
      disputed[#disputed + 1] = k
    end
  end
  if new > 0 then setbits(add) end
  raise(KEYS[2], sweep .. ':cells', new)
  raise(KEYS[2], sweep .. ':values', values)
  raise(KEYS[2], sweep .. ':repeated', repeated)
  raise(KEYS[2], sweep .. ':disputed', open)
  raise(KEYS[2], sweep .. ':confirmed', confirmed)

  local out = { 'ok', stored, same, stale }
  for _, k in ipairs(disputed) do out[#out + 1] = k end
  return out
end
