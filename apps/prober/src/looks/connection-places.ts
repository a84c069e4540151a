import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { networkOf } from '@certwright/outbound';
import type { AddressOccupancy, AddressOccupancyOptions, Occupant } from '@certwright/redis';

/** Between two attempts to occupy an address that another copy of the prober occupies, ms. */
const attemptEveryMs = 50;

export const occupancyOptions = {
  maxPerNetwork: 8,
  /** A connection lasts 5 s, and 1 s more until it is closed. */
  lifetimeMs: 10_000,
  /** Ten attempts: a busy process may miss some. */
  patienceMs: 10 * attemptEveryMs,
} as const satisfies AddressOccupancyOptions;

interface Waiting {
  readonly address: string;
  readonly admit: () => void;
}

/** Connections of this process to one network, and who waits for one, in the order of arrival. */
interface Network {
  readonly occupied: Set<string>;
  readonly waiting: Set<Waiting>;
}

/**
 * One connection per address at a time, and few per network: among all copies of the prober, and within this process while
 * Redis is unavailable. Those who wait in this process get their turn in the order of arrival, so at most `maxPerNetwork`
 * of them per network query Redis.
 */
export class ConnectionPlaces {
  private readonly networks = new Map<string, Network>();

  constructor(private readonly shared: Pick<AddressOccupancy, 'occupy' | 'vacate'>) {}

  /**
   * Waits until the address is free.
   *
   * @returns a function that frees it, to be called once
   * @throws the reason of the signal
   */
  async take(address: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const occupant = { token: randomUUID(), address, network: networkOf(address) };
    await this.#takeHere(occupant, signal);
    const free = () => {
      // Sent before the next occupant's attempt. Without Redis, the entry expires.
      this.shared.vacate(occupant).catch(() => undefined);
      this.#freeHere(occupant);
    };
    try {
      while (!(await this.#occupy(occupant))) {
        signal.throwIfAborted();
        await delay(attemptEveryMs, undefined, { signal });
      }
      signal.throwIfAborted();
      return free;
    } catch {
      free();
      throw signal.reason;
    }
  }

  async #occupy(occupant: Occupant): Promise<boolean> {
    try {
      return await this.shared.occupy(occupant);
    } catch {
      // The connection logs that Redis is unavailable.
      return true;
    }
  }

  async #takeHere({ address, network: name }: Occupant, signal: AbortSignal): Promise<void> {
    const network = this.networks.get(name) ?? { occupied: new Set(), waiting: new Set() };
    this.networks.set(name, network);
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        network.waiting.delete(waiting);
        this.#forgetUnused(name, network);
        reject(signal.reason);
      };
      const waiting = {
        address,
        admit: () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      network.waiting.add(waiting);
      admitNext(network);
    });
  }

  #freeHere({ address, network: name }: Occupant): void {
    const network = this.networks.get(name);
    if (network === undefined) return;
    network.occupied.delete(address);
    admitNext(network);
    this.#forgetUnused(name, network);
  }

  #forgetUnused(name: string, { occupied, waiting }: Network): void {
    if (occupied.size === 0 && waiting.size === 0) this.networks.delete(name);
  }
}

function admitNext({ occupied, waiting }: Network): void {
  for (const each of waiting) {
    if (occupied.size >= occupancyOptions.maxPerNetwork) return;
    if (occupied.has(each.address)) continue;
    occupied.add(each.address);
    waiting.delete(each);
    each.admit();
  }
}
