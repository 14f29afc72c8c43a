-- Commit of cells of which only a record is kept. Runs after admit.lua,
-- origin.lua, marks.lua, claims.lua and ledger.lua, which say what the first KEYS and ARGV are.
--
-- KEYS 7 the chunk's records, a hash: bit → record
-- ARGV 11… one record a cell; then those of origin.lua
--
-- A record holds the sums and checkpoints that the plan asks for, so a record
-- of another plan is not taken.
local first, count = tonumber(ARGV[5]), tonumber(ARGV[6])
local function field(k) return string.format('%d', first + k) end
local function put(k) redis.call('HSET', KEYS[7], field(k), ARGV[11 + k]) end

return origin()(commit({
  check = function() redis.call('HLEN', KEYS[7]) end,
  bytes = function(k) return ARGV[11 + k] end,
  stored = function(k) return redis.call('HGET', KEYS[7], field(k)) or '' end,
  put = put,
  all = function()
    for k = 0, count - 1 do put(k) end
  end,
}, true))
