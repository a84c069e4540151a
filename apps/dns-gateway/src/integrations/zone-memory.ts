import { createHash } from 'node:crypto';
import type { Zone } from '@certwright/gateway-contract';

export interface ZoneMemoryOptions {
  /** How long zones are believed, milliseconds: as long may a zone that was taken away still be written to by us. */
  readonly keptMs: number;
  /** Integrations remembered; beyond it the oldest is forgotten. */
  readonly most: number;
  /** Monotonic, milliseconds. */
  readonly nowMs: () => number;
}

interface Remembered {
  readonly zones: Promise<readonly Zone[]>;
  readonly sinceMs: number;
}

export interface KnownZones {
  readonly zones: readonly Zone[];
  /** Whether they were asked for by this very request. */
  readonly isFresh: boolean;
}

/**
 * The zones of integrations for a short while, so that a hundred names do not list them a hundred times. Nothing is lost
 * with it, and no copy of the process needs another's.
 */
export class ZoneMemory {
  readonly #byHandle = new Map<string, Remembered>();

  constructor(private readonly options: ZoneMemoryOptions) {}

  /** @param list asks the provider; what it throws is thrown, and remembered by nobody */
  async known(handle: string, list: () => Promise<readonly Zone[]>): Promise<KnownZones> {
    const remembered = this.#byHandle.get(keyOf(handle));
    if (remembered !== undefined && this.options.nowMs() - remembered.sinceMs < this.options.keptMs) {
      // Asked for by another request, whose time may run out before ours does.
      const zones = await remembered.zones.catch(() => null);
      if (zones !== null) return { zones, isFresh: false };
    }
    return { zones: await this.fresh(handle, list), isFresh: true };
  }

  async fresh(handle: string, list: () => Promise<readonly Zone[]>): Promise<readonly Zone[]> {
    const key = keyOf(handle);
    const remembered: Remembered = { zones: list(), sinceMs: this.options.nowMs() };
    this.#byHandle.delete(key);
    this.#byHandle.set(key, remembered);
    for (const oldest of this.#byHandle.keys()) {
      if (this.#byHandle.size <= this.options.most) break;
      this.#byHandle.delete(oldest);
    }
    try {
      return await remembered.zones;
    } catch (error) {
      if (this.#byHandle.get(key) === remembered) this.#byHandle.delete(key);
      throw error;
    }
  }

  /** After a fault of the provider: what was known may not hold any more. */
  forget(handle: string): void {
    this.#byHandle.delete(keyOf(handle));
  }
}

/** Of the handle, which opened before: it names the owner and cannot be made up. */
const keyOf = (handle: string): string => createHash('sha256').update(handle).digest('base64');
