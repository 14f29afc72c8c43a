-- Shared by the commit scripts: notes who computed what is committed. origin()
-- looks at the keys and returns a function to call with the answer of the
-- commit, which it hands back.
--
-- The last 12 ARGV, of which the last 3 are for marks.lua:
--   1 key of the descriptions, or empty: nothing is noted
--   2 key of the bucket of notes, a hash  3 the worker's short name
--   4 its description  5 sweep:short name  6 its tasks so far
--   7 the note's field in the bucket  8 ms since the task began  9 the note
--   10 prefix of the run's keys  11 the worker's quoted ID and its algorithm, or
--   empty  12 '1' for a computation that is to confirm what is stored
--
-- What was only compared leaves no note: it is not what is stored. What was
-- compared in order to confirm does.
local function origin()
  local at = #ARGV - 11
  local who, bucket = ARGV[at], ARGV[at + 1]
  if who == '' then
    return function(answer) return answer end
  end
  local short, index, tasks = ARGV[at + 2], ARGV[at + 4], tonumber(ARGV[at + 5])
  local known = redis.call('HMGET', who, short, index)
  redis.call('HLEN', bucket)
  return function(answer)
    local noted = answer[2]
    if ARGV[at + 11] == '1' and answer[1] == 'ok' then noted = noted + answer[3] end
    if answer[1] ~= 'ok' or noted == 0 then return answer end
    if known[1] ~= ARGV[at + 3] then redis.call('HSET', who, short, ARGV[at + 3]) end
    if tasks > (tonumber(known[2] or '') or 0) then redis.call('HSET', who, index, ARGV[at + 5]) end
    local now = redis.call('TIME')
    local ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000) - tonumber(ARGV[at + 7])
    redis.call('HSET', bucket, ARGV[at + 6], ARGV[at + 8] .. string.format(' %.0f', ms))
    return answer
  end
end
