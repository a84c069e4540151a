import { readFile } from 'node:fs/promises';
import { watchedNames, watchedVersion } from '@certwright/ct-index';
import { MonitoredDomainIndex } from '@certwright/monitored-domains';
import type { EntityManager } from 'typeorm';

/** Selects the issuances to store, by their names. */
export interface IndexedScope {
  covers(dnsNames: readonly string[], oddNames: readonly string[]): boolean;
}

export const everything: IndexedScope = { covers: () => true };

/** Where names come from; each source has names of its own. */
type Source = 'database' | 'file';

/**
 * Issuances that concern one of some domains, by the rules of monitoring (`MonitoredDomainIndex`). Names that cannot be read
 * again stay as they are.
 */
export class MonitoredNames implements IndexedScope {
  private readonly index = new MonitoredDomainIndex({ maxNames: 1 });
  private readonly names: Record<Source, ReadonlySet<string>> = { database: new Set(), file: new Set() };
  private version: string | null = null;

  /** @param onInvalid called for each text that is no domain; it is ignored */
  constructor(private readonly onInvalid: (source: Source, name: string) => void) {}

  get size(): number {
    return this.index.size;
  }

  covers(dnsNames: readonly string[], oddNames: readonly string[]): boolean {
    const { accounts, isComplete } = this.index.match(
      oddNames.length === 0 ? dnsNames : [...dnsNames, ...oddNames],
    );
    // Storing too much is harmless.
    return accounts.length > 0 || !isComplete;
  }

  /** Reads the names that accounts monitor, if they have changed. */
  async readTable(reader: Pick<EntityManager, 'query'>): Promise<void> {
    if (this.version !== null && (await watchedVersion(reader)) === this.version) return;
    const { version, names } = await watchedNames(reader);
    this.replace('database', new Set(names));
    this.version = version;
  }

  /** Reads a file with one domain per line, which means the domain and all names below it. */
  async readFile(path: string): Promise<void> {
    const lines = (await readFile(path, 'utf8')).split('\n').map((line) =>
      line
        .replace(/#.*/, '')
        .trim()
        .toLowerCase()
        .replace(/^\*?\.|\.$/g, ''),
    );
    const domains = lines.filter((domain) => domain !== '').map((domain) => `.${aLabels(domain)}`);
    this.replace('file', new Set(domains));
  }

  private replace(source: Source, names: ReadonlySet<string>): void {
    for (const name of this.names[source]) if (!names.has(name)) this.index.remove(source, name);
    this.names[source] = new Set(
      [...names].filter((name) => this.names[source].has(name) || this.add(source, name)),
    );
  }

  private add(source: Source, name: string): boolean {
    try {
      this.index.set(source, name, true);
      return true;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.onInvalid(source, name);
      return false;
    }
  }
}

/** Certificates have A-labels. */
function aLabels(domain: string): string {
  return URL.canParse(`http://${domain}/`) ? new URL(`http://${domain}/`).hostname : domain;
}
