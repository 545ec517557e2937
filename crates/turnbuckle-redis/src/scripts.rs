//! Operations that read before they write, as Lua that Redis runs in one piece.
//!
//! A value is a string: 8 bytes of version, then the bytes of the value.
//!
//! A log is a stream whose ids are `0-<position>`.
//!
//! A queue is a sorted set of ids, and a hash for each job, which expires with the job. The score of an id
//! is 0 while nobody has claimed the job, else the time in milliseconds at which its claim ends. Ids begin with the time of Redis,
//! so ids of one score stand in the order in which they were pushed.

use redis::Script;

/// The most ids of a queue that one call brings up to date.
const MAX_STEPS: &str = "100";

pub(crate) struct Scripts {
    /// `value; version, bytes, ttl`: returns 1 if the value had the version.
    pub(crate) put_version: Script,
    /// `value; version`: returns 1 if the value had the version.
    pub(crate) remove_version: Script,
    /// `log; position or "", entries to keep, ttl, entries…`: returns the last position, or nothing if the
    /// position is not the next one.
    pub(crate) append: Script,
    /// `log; after, most entries, most bytes, most bytes of an entry`: returns the first, the last and the
    /// start position, and the entries.
    pub(crate) read: Script,
    /// `queue, jobs; unique number, bytes, ttl`.
    pub(crate) push: Script,
    /// `queue, jobs; hidden time`: returns id, attempt and bytes; 0 if there may be a job beyond those
    /// that this call looked at; nothing otherwise.
    pub(crate) claim: Script,
    /// `queue, jobs; id, attempt, hidden time`: returns 1 if the claim holds.
    pub(crate) extend: Script,
    /// `queue, jobs; id, attempt`: returns 1 if the claim holds.
    pub(crate) complete: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            put_version: Script::new(PUT_VERSION),
            remove_version: Script::new(REMOVE_VERSION),
            append: Script::new(APPEND),
            read: Script::new(READ),
            push: Script::new(PUSH),
            claim: Script::new(&CLAIM.replace("MAX_STEPS", MAX_STEPS)),
            extend: Script::new(EXTEND),
            complete: Script::new(COMPLETE),
        }
    }
}

const PUT_VERSION: &str = "
if redis.call('GETRANGE', KEYS[1], 0, 7) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1";

const REMOVE_VERSION: &str = "
if redis.call('GETRANGE', KEYS[1], 0, 7) ~= ARGV[1] then return 0 end
return redis.call('UNLINK', KEYS[1])";

// Redis refuses the first write when it has no memory, and none after it: all entries are appended, or none.
// Lua counts exactly to 2^53.
const APPEND: &str = "
local last = 0
local tail = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if tail then
  last = tonumber(string.match(tail[1], '^0%-(%d+)$'))
  if not last or last > 2^53 then return redis.error_reply('CORRUPT the stream has ids of others') end
end
if ARGV[1] ~= '' and tonumber(ARGV[1]) ~= last + 1 then return false end
for index = 4, #ARGV do
  last = last + 1
  redis.call('XADD', KEYS[1], string.format('0-%.0f', last), 'e', ARGV[index])
end
redis.call('XTRIM', KEYS[1], 'MAXLEN', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return last";

const READ: &str = "
local corrupt = redis.error_reply('CORRUPT the stream has entries of others')
local tail = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not tail then return {0, 0, 0} end
local last = tonumber(string.match(tail[1], '^0%-(%d+)$'))
if not last or last > 2^53 then return corrupt end
local first = last - redis.call('XLEN', KEYS[1]) + 1
local start = math.max(first, tonumber(ARGV[1]) + 1)
local reply = {first, last, 0}
local most, room = tonumber(ARGV[2]), tonumber(ARGV[3])
local position = start
while position <= last do
  local chunk = redis.call('XRANGE', KEYS[1], string.format('0-%.0f', position), '+', 'COUNT', 8)
  if not chunk[1] then return corrupt end
  for _, entry in ipairs(chunk) do
    local bytes = entry[2][2]
    if entry[1] ~= string.format('0-%.0f', position) or #bytes > tonumber(ARGV[4]) then
      return corrupt
    end
    room = room - #bytes
    if position > start and (room < 0 or most < 1) then return reply end
    reply[3] = start
    reply[#reply + 1] = bytes
    most = most - 1
    position = position + 1
  end
end
return reply";

// Ids whose jobs have expired are removed two at a time, more than are added.
const PUSH: &str = "
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, 1)) do
  if redis.call('EXISTS', KEYS[2] .. id) == 0 then redis.call('ZREM', KEYS[1], id) end
end
local time = redis.call('TIME')
local id = string.format('%08x%08x', time[1], time[2]) .. ARGV[1]
redis.call('ZADD', KEYS[1], 0, id)
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'NX')
redis.call('PEXPIRE', KEYS[1], ARGV[3], 'GT')
redis.call('HSET', KEYS[2] .. id, 'job', ARGV[2], 'attempt', 0)
redis.call('PEXPIRE', KEYS[2] .. id, ARGV[3])
return 1";

const CLAIM: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ended = redis.call('ZRANGE', KEYS[1], '(0', now, 'BYSCORE', 'LIMIT', 0, MAX_STEPS)
for _, id in ipairs(ended) do redis.call('ZADD', KEYS[1], 0, id) end
local free = redis.call('ZRANGE', KEYS[1], 0, 0, 'BYSCORE', 'LIMIT', 0, MAX_STEPS)
for _, id in ipairs(free) do
  local bytes = redis.call('HGET', KEYS[2] .. id, 'job')
  if bytes then
    redis.call('ZADD', KEYS[1], now + ARGV[1], id)
    return {id, redis.call('HINCRBY', KEYS[2] .. id, 'attempt', 1), bytes}
  end
  redis.call('ZREM', KEYS[1], id)
end
if #free == MAX_STEPS then return 0 end
return false";

const EXTEND: &str = "
if redis.call('HGET', KEYS[2] .. ARGV[1], 'attempt') ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
return 1";

const COMPLETE: &str = "
if redis.call('HGET', KEYS[2] .. ARGV[1], 'attempt') ~= ARGV[2] then return 0 end
redis.call('UNLINK', KEYS[2] .. ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
return 1";
