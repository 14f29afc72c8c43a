-- Shared by the commit scripts, after accepts.lua. admit asks whether the run
-- takes commits for the sweep. It returns a refusal to hand back, or nil and the
-- stored revision and plan.
--
-- Refusals: {'fenced'} the manifest is gone, {'state', s} the run is in a state
-- that takes no commits, {'nosweep'} the plan has no such sweep.
local function admit(manifest, sweep)
  local head = redis.call('HMGET', manifest, 'state', 'rev', 'plan:' .. sweep)
  if not head[1] then return { 'fenced' } end
  if not accepts[head[1]] then return { 'state', head[1] } end
  if not head[3] then return { 'nosweep' } end
  return nil, head[2], head[3]
end

-- Counters are checked before they are raised: HINCRBY on something else than
-- an integer would fail after the first write.
local function counters(key, sweep)
  local have = redis.call('HMGET', key, sweep .. ':cells', sweep .. ':values',
    sweep .. ':repeated', sweep .. ':disputed', sweep .. ':confirmed')
  for i = 1, 5 do
    if have[i] and not string.match(have[i], '^%-?%d+$') then return false end
  end
  return true
end

local function raise(key, field, by)
  if by ~= 0 then redis.call('HINCRBY', key, field, string.format('%d', by)) end
end
