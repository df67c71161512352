-- The TRANSFER of docs/protocol.md: the same checks in the same order, the same statuses, idempotent by transaction id.
-- KEYS: source, destination, what is remembered of the transaction id. ARGV: amount. Returns status and value.
local balance = redis.call('GET', KEYS[1])
local amount = tonumber(ARGV[1])
if amount == 0 then
    return {16, tonumber(balance or 0)}
end
if KEYS[1] == KEYS[2] then
    return {17, tonumber(balance or 0)}
end
local content = KEYS[2] .. ' ' .. ARGV[1]
local first = redis.call('GET', KEYS[3])
if first then
    local status, value, before = first:match('^(%d+) (%d+) (.*)$')
    if before ~= content then
        return {18, tonumber(balance or 0)}
    end
    return {tonumber(status), tonumber(value)}
end
local status, value = 0, tonumber(balance or 0)
if not balance then
    status = 2
else
    local received = redis.call('GET', KEYS[2])
    if not received then
        status = 3
    elseif value < amount then
        status = 4
    elseif tonumber(received) > 9007199254740991 - amount then
        status = 5
    else
        value = redis.call('DECRBY', KEYS[1], amount)
        redis.call('INCRBY', KEYS[2], amount)
    end
end
redis.call('SET', KEYS[3], status .. ' ' .. value .. ' ' .. content)
return {status, value}
