-- Changes the plan of a run within its epoch, if nobody else did meanwhile.
--
-- KEYS 1 manifest  2 quarantine
-- ARGV 1 old revision  2 new revision  3 manifest as JSON  4 prefix of the
--      run's keys, which all lie with the manifest  5 number of sweeps, then
--      for each: name, identity, plan, ranges of chunks ever planned,
--      'all' or empty, number of cells to open, their addresses, number of
--      clipped cells, and for each its address and "lo hi"
-- Returns {'ok'}, {'fenced'}, {'changed', the revision now}, or
--      {'identity', sweep, the stored identity}.
--
-- A finished cell is opened again when the extent with which it was committed
-- is not the one that the new plan wants: its bit is cleared, its values stay
-- until they are overwritten. 'all' opens every cell of a sweep. What workers in
-- quarantine have computed is to be looked at again, because cells come into the
-- plan.
local head = redis.call('HMGET', KEYS[1], 'rev', 'manifest')
if not head[1] then return { 'fenced' } end
if head[1] == ARGV[2] and head[2] == ARGV[3] then return { 'ok' } end -- sent twice
if head[1] ~= ARGV[1] then return { 'changed', head[1] } end

local expelled = redis.call('HGETALL', KEYS[2])
local at = 5
local function take()
  at = at + 1
  return ARGV[at]
end
local sweeps = {}
for _ = 1, tonumber(ARGV[5]) do
  local s = { name = take(), identity = take(), plan = take(), chunks = take(), all = take() ~= '',
    open = {}, want = {} }
  for _ = 1, tonumber(take()) do s.open[#s.open + 1] = take() end
  for _ = 1, tonumber(take()) do
    local addr = take()
    s.want[addr] = take()
  end
  sweeps[#sweeps + 1] = s
  local was = redis.call('HGET', KEYS[1], 'identity:' .. s.name)
  if was and was ~= s.identity then return { 'identity', s.name, was } end
  redis.call('HLEN', ARGV[4] .. 'clips:' .. s.name)
  redis.call('HLEN', ARGV[4] .. 'disputes:' .. s.name)
end

for _, s in ipairs(sweeps) do
  local clips, disputes = ARGV[4] .. 'clips:' .. s.name, ARGV[4] .. 'disputes:' .. s.name
  if s.all then
    for from, to in string.gmatch(s.chunks, '(%d+)-(%d+)') do
      for c = tonumber(from), tonumber(to) do
        redis.call('DEL', ARGV[4] .. 'done:' .. s.name .. ':' .. string.format('%.0f', c))
      end
    end
    redis.call('DEL', clips, disputes)
  else
    local gone = {}
    local function open(addr)
      local chunk, bit = string.match(addr, '^(%d+)/(%d+)$')
      if not chunk then return end
      local done = ARGV[4] .. 'done:' .. s.name .. ':' .. chunk
      if redis.call('GETBIT', done, bit) == 1 then redis.call('SETBIT', done, bit, 0) end
      redis.call('HDEL', clips, addr)
      gone[addr] = true
    end
    local had = redis.call('HGETALL', clips)
    local extent = {}
    for i = 1, #had, 2 do
      extent[had[i]] = had[i + 1]
      if s.want[had[i]] ~= had[i + 1] then open(had[i]) end
    end
    for addr, want in pairs(s.want) do
      if extent[addr] ~= want then open(addr) end
    end
    for _, addr in ipairs(s.open) do open(addr) end
    for _, field in ipairs(redis.call('HKEYS', disputes)) do
      local addr = string.match(field, '^(%S+) ')
      if addr and gone[addr] then redis.call('HDEL', disputes, field) end
    end
  end
end

for i = 1, #expelled, 2 do
  if string.sub(expelled[i + 1], 1, 1) ~= '?' then redis.call('HSET', KEYS[2], expelled[i], '?' .. expelled[i + 1]) end
end

-- One command changes the plan, so that no half of it can ever be there.
local fields = { 'state', 'running', 'reason', '', 'rev', ARGV[2], 'manifest', ARGV[3] }
local planned = {}
for _, s in ipairs(sweeps) do
  planned['plan:' .. s.name] = true
  for _, v in ipairs({ 'plan:' .. s.name, s.plan, 'identity:' .. s.name, s.identity, 'chunks:' .. s.name, s.chunks }) do
    fields[#fields + 1] = v
  end
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('HDEL', KEYS[1], 'result')
-- A sweep that left the plan loses its plan, so that it takes no commits, but
-- keeps its identity and its values for the day it comes back.
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 5) == 'plan:' and not planned[field] then redis.call('HDEL', KEYS[1], field) end
end
return { 'ok' }
