-- Commit of cells whose values are kept. Runs after admit.lua, origin.lua,
-- marks.lua, claims.lua and ledger.lua, which say what the first KEYS and ARGV are.
--
-- KEYS 7… the blocks that the cells touch, in order of n
-- ARGV 11 bytes of a value
--      12… for each block: its full length in bytes, the offset of the first
--      byte in it, and the bytes, which run on from block to block; then
--      those of origin.lua
local width = tonumber(ARGV[11])
local blocks = #KEYS - 6
local full, off, have = {}, {}, {}
for b = 1, blocks do
  full[b], off[b] = tonumber(ARGV[9 + 3 * b]), tonumber(ARGV[10 + 3 * b])
end
local function data(b) return ARGV[11 + 3 * b] end

-- write puts bytes into block b at an offset. A block begins its life at full
-- length: strings that grow piece by piece are given twice the memory.
local function write(b, at, bytes)
  if at == 0 and #bytes == full[b] then
    redis.call('SET', KEYS[6 + b], bytes)
  else
    if have[b] < full[b] and at + #bytes < full[b] then
      redis.call('SETRANGE', KEYS[6 + b], full[b] - 1, '\0')
    end
    redis.call('SETRANGE', KEYS[6 + b], at, bytes)
  end
  have[b] = full[b]
end

-- pieces calls f(block, offset in it, bytes) for the parts of cell k, which
-- are found by walking along from the parts of the cells before it.
local starts
local function pieces(k, f)
  if not starts then
    starts = {}
    local b, pos = 1, 0
    for c = 0, tonumber(ARGV[6]) - 1 do
      local s1, s2, s3, s4 = string.byte(ARGV[8], 4 * c + 1, 4 * c + 4)
      local rest = (((s1 * 256 + s2) * 256 + s3) * 256 + s4) * width
      starts[c] = { b, pos, rest }
      while rest > 0 do
        local take = math.min(rest, #data(b) - pos)
        rest, pos = rest - take, pos + take
        if pos == #data(b) then b, pos = b + 1, 0 end
      end
    end
  end
  local b, pos, rest = starts[k][1], starts[k][2], starts[k][3]
  while rest > 0 do
    local take = math.min(rest, #data(b) - pos)
    f(b, off[b] + pos, string.sub(data(b), pos + 1, pos + take))
    rest, b, pos = rest - take, b + 1, 0
  end
end

return origin()(commit({
  width = width,
  check = function()
    for b = 1, blocks do
      have[b] = redis.call('STRLEN', KEYS[6 + b])
      if have[b] > full[b] then return KEYS[6 + b] end
    end
  end,
  bytes = function(k)
    local s = {}
    pieces(k, function(_, _, bytes) s[#s + 1] = bytes end)
    return table.concat(s)
  end,
  stored = function(k)
    local s = {}
    pieces(k, function(b, at, bytes)
      s[#s + 1] = redis.call('GETRANGE', KEYS[6 + b], at, at + #bytes - 1)
    end)
    return table.concat(s)
  end,
  put = function(k) pieces(k, write) end,
  all = function()
    for b = 1, blocks do write(b, off[b], data(b)) end
  end,
  equal = function()
    for b = 1, blocks do
      if redis.call('GETRANGE', KEYS[6 + b], off[b], off[b] + #data(b) - 1) ~= data(b) then return false end
    end
    return true
  end,
}, false))
