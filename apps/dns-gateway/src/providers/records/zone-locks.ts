import type { Zone } from '@certwright/gateway-contract';
import type { DnsProvider, ProviderSession } from '../dns-provider';
import { orAbort } from '../http/or-abort';

/** First come, first served, per key, within this process. */
export class ZoneLocks {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `change` when all that came before are done; whoever gives up while waiting leaves the line. */
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
      if (this.#last.get(key) === line) this.#last.delete(key);
    }
  }

  /** Zones that are being changed. */
  get size(): number {
    return this.#last.size;
  }
}

/**
 * A provider whose changes of one zone stand in line within this process: needed where the API has no compare-and-swap,
 * and where it has one it spares the tries that would be lost. The line is an account's own, so that nobody waits for a
 * stranger who gave his zone the same name at a slow server. Between copies of this process there is no lock.
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
