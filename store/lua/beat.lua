-- Notes a sign of life with the time of this server.
--
-- KEYS 1 hash  2 manifest of the run, or absent  3 the run's quarantine, with 2
-- ARGV 1 field  2 start in ms, or 0 for: as noted before by the same sender,
--      else now  3 sender  4 JSON  5 quoted ID
--      of the worker, with KEYS 3
-- Returns {'ok', state of the run or ''}, {'fenced'}, or {'quarantined'} when the
-- sign of life is noted but nothing else is taken from the worker.
--
-- The value is "started at sender json". The first beat of a sender begins its
-- time; the field of another sender is simply taken over. A run that takes no
-- commits has no tasks under way: what comes late removes the field instead, or
-- it would stay for good, as no scheduler looks after such a run.
local state = ''
if KEYS[2] then
  state = redis.call('HGET', KEYS[2], 'state')
  if not state then return { 'fenced' } end
end
if KEYS[2] and not accepts[state] then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  local now = redis.call('TIME')
  local at = now[1] .. string.format('%03d', math.floor(tonumber(now[2]) / 1000))
  local started = ARGV[2]
  if started == '0' then
    started = at
    local old = redis.call('HGET', KEYS[1], ARGV[1])
    if old then
      local s, who = string.match(old, '^(%d+) %d+ (%S+) ')
      if s and who == ARGV[3] then started = s end
    end
  end
  redis.call('HSET', KEYS[1], ARGV[1], started .. ' ' .. at .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
end
if KEYS[3] and redis.call('HEXISTS', KEYS[3], ARGV[5]) == 1 then return { 'quarantined' } end
return { 'ok', state }
