import type { Zone } from '@certwright/gateway-contract';
import type { DnsProvider, ProviderSession } from '../dns-provider';
import { orAbort } from '../http/or-abort';

/** A lock per key, first come, first served, within this process. */
export class ZoneLocks {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `change` after all earlier ones. A caller that gives up while waiting leaves the queue. */
  async holding<T>(key: string, signal: AbortSignal, change: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    let release = (): void => undefined;
    const mine = new Promise<void>((resolve) => (release = resolve));
    const line = before.then(() => mine);
    this.#last.set(key, line);
    try {
      await orAbort(before, signal);
      return await change();
    } finally {
      release();
      // Only then: a caller that gives up leaves changes in the queue that began before it.
      void line.then(() => {
        if (this.#last.get(key) === line) this.#last.delete(key);
      });
    }
  }

  /** Zones with a running change. */
  get size(): number {
    return this.#last.size;
  }
}

/**
 * Serializes a provider's changes of one zone within this process. Required when the API has no compare-and-swap;
 * otherwise it saves attempts that would fail. The queue is per account, so that a foreign zone of the same name at
 * a slow server delays no other account. There is no lock between copies of this process.
 */
export function withZoneLocks(provider: DnsProvider, locks: ZoneLocks): DnsProvider {
  return {
    name: provider.name,
    title: provider.title,
    advice: provider.advice,
    credentialKinds: (account) => provider.credentialKinds(account),
    accept: (credentials, account, ports, signal) => provider.accept(credentials, account, ports, signal),
    session: (kept, account, ports, signal): ProviderSession => {
      const session = provider.session(kept, account, ports, signal);
      const inLine = <T>(zone: Zone, change: () => Promise<T>): Promise<T> =>
        locks.holding(JSON.stringify([provider.name, account, zone.name]), signal, change);
      return {
        zones: () => session.zones(),
        add: (zone, record) => inLine(zone, () => session.add(zone, record)),
        replace: (zone, record) => inLine(zone, () => session.replace(zone, record)),
        remove: (zone, record) => inLine(zone, () => session.remove(zone, record)),
        renewed: () => session.renewed(),
      };
    },
  };
}
