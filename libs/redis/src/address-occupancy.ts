import type { RedisKeys } from './redis-connection';
import { RedisScript } from './redis-script';

/**
 * Occupies an address, atomically, if it is free and its network has room, and if neither is due to a client that waits longer.
 *
 * KEYS[1]  occupied addresses of one network: a hash from the address to its expiry (µs) and the token of its holder
 * KEYS[2]  waiting clients: a hash from the token to the arrival (µs), the last attempt (µs) and the address
 * ARGV     token, address, max occupied addresses of the network, lifetime (µs), how long an attempt counts as waiting (µs)
 * returns  1 if the token holds the address, otherwise 0; the token then waits
 *
 * Uses the clock of Redis. Both keys expire with their last entry, and have at most one entry for each connection or attempt.
 */
const occupy = new RedisScript(`
local token, address, max = ARGV[1], ARGV[2], tonumber(ARGV[3])
local lifetime, patience = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local text = string.format('%.0f', now)
local occupied, count = {}, 0
local held = redis.call('HGETALL', KEYS[1])
for at = 1, #held, 2 do
  local expiry, holder = string.match(held[at + 1], '^(%d+) (.*)$')
  if tonumber(expiry) <= now then
    redis.call('HDEL', KEYS[1], held[at])
  elseif held[at] == address and holder == token then
    return 1
  else
    occupied[held[at]] = true
    count = count + 1
  end
end
local arrival, waiting = text, {}
local entries = redis.call('HGETALL', KEYS[2])
for at = 1, #entries, 2 do
  local since, last, wanted = string.match(entries[at + 1], '^(%d+) (%d+) (.*)$')
  if entries[at] == token then
    arrival = since
  elseif tonumber(last) + patience < now then
    redis.call('HDEL', KEYS[2], entries[at])
  else
    waiting[#waiting + 1] = { tonumber(since), wanted }
  end
end
local isFree = not occupied[address]
for _, other in ipairs(waiting) do
  if other[1] < tonumber(arrival) then
    if other[2] == address then
      isFree = false
    elseif not occupied[other[2]] then
      occupied[other[2]] = true
      count = count + 1
    end
  end
end
if isFree and count < max then
  redis.call('HDEL', KEYS[2], token)
  redis.call('HSET', KEYS[1], address, string.format('%.0f', now + lifetime) .. ' ' .. token)
  redis.call('PEXPIRE', KEYS[1], math.ceil(lifetime / 1000))
  return 1
end
redis.call('HSET', KEYS[2], token, arrival .. ' ' .. text .. ' ' .. address)
redis.call('PEXPIRE', KEYS[2], math.ceil(patience / 1000) + 1)
return 0
`);

/**
 * Ends what a token holds and waits for; nothing happens if another token holds the address meanwhile.
 *
 * KEYS     as above
 * ARGV     token, address
 */
const vacate = new RedisScript(`
redis.call('HDEL', KEYS[2], ARGV[1])
local held = redis.call('HGET', KEYS[1], ARGV[2])
if held and string.match(held, '^%d+ (.*)$') == ARGV[1] then redis.call('HDEL', KEYS[1], ARGV[2]) end
return 0
`);

/** One connection to an address, or the attempt to get one. */
export interface Occupant {
  /** Unique. */
  readonly token: string;
  readonly address: string;
  /** Whose addresses share a maximum. */
  readonly network: string;
}

export interface AddressOccupancyOptions {
  /** Max addresses of one network that are occupied at a time. */
  readonly maxPerNetwork: number;
  /** After this time an address is free again even if its holder died, ms. Longer than any connection. */
  readonly lifetimeMs: number;
  /** A waiting occupant keeps its turn if it tries again within this time, ms. */
  readonly patienceMs: number;
}

/**
 * At most one connection per address, shared by all processes. Waiting occupants get their turn in the order of their first
 * attempt. Both methods reject when Redis is unavailable or slow; an address may then be occupied or not.
 */
export class AddressOccupancy {
  constructor(
    private readonly redis: RedisKeys,
    private readonly options: AddressOccupancyOptions,
  ) {}

  /** Can be repeated. @returns whether the occupant may connect; otherwise it waits until the next attempt */
  async occupy({ token, address, network }: Occupant): Promise<boolean> {
    const { maxPerNetwork, lifetimeMs, patienceMs } = this.options;
    const args = [token, address, maxPerNetwork, lifetimeMs * 1_000, patienceMs * 1_000];
    return (await occupy.run(this.redis.client, this.#keys(network), args)) === 1;
  }

  /** Ends the connection, or the wait for one. */
  async vacate({ token, address, network }: Occupant): Promise<void> {
    await vacate.run(this.redis.client, this.#keys(network), [token, address]);
  }

  /** The braces are the hash tag of Redis Cluster: both keys of a network are on the same node. */
  #keys(network: string): readonly string[] {
    const tagged = `${this.redis.prefix}:connections:{${network}}`;
    return [`${tagged}:occupied`, `${tagged}:waiting`];
  }
}
