import { createHash } from 'node:crypto';
import type { Zone } from '@certwright/gateway-contract';

export interface ZoneMemoryOptions {
  /**
   * How long zones are cached, milliseconds. For this long the gateway may still write to a zone that was removed.
   */
  readonly keptMs: number;
  /** Max integrations cached; the oldest is dropped. */
  readonly maxEntries: number;
  /** Monotonic, milliseconds. */
  readonly nowMs: () => number;
}

interface Remembered {
  readonly zones: Promise<readonly Zone[]>;
  readonly sinceMs: number;
}

export interface KnownZones {
  readonly zones: readonly Zone[];
  /** Whether this request listed them. */
  readonly isFresh: boolean;
}

/**
 * Caches the zones of integrations briefly, so that a hundred names do not list them a hundred times. The cache can
 * be lost, and processes do not share it.
 */
export class ZoneMemory {
  readonly #byHandle = new Map<string, Remembered>();

  constructor(private readonly options: ZoneMemoryOptions) {}

  /** @param list queries the provider; its errors are thrown and not cached */
  async known(handle: string, list: () => Promise<readonly Zone[]>): Promise<KnownZones> {
    const remembered = this.#byHandle.get(keyOf(handle));
    if (remembered !== undefined && this.options.nowMs() - remembered.sinceMs < this.options.keptMs) {
      // Started by another request, which may time out before this one.
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
      if (this.#byHandle.size <= this.options.maxEntries) break;
      this.#byHandle.delete(oldest);
    }
    try {
      return await remembered.zones;
    } catch (error) {
      if (this.#byHandle.get(key) === remembered) this.#byHandle.delete(key);
      throw error;
    }
  }

  /** After a provider error the cached zones may be outdated. */
  forget(handle: string): void {
    this.#byHandle.delete(keyOf(handle));
  }
}

/** Key: the opened handle, which is bound to its owner and cannot be forged. */
const keyOf = (handle: string): string => createHash('sha256').update(handle).digest('base64');
