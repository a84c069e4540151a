import { readFile } from 'node:fs/promises';

/** Which issuances are stored, by their names. */
export interface IndexedScope {
  covers(dnsNames: readonly string[]): boolean;
}

export const everything: IndexedScope = { covers: () => true };

/** Issuances with a name at or below one of some domains. */
export class MonitoredDomains implements IndexedScope {
  private domains: ReadonlySet<string> = new Set();

  constructor(private readonly path: string) {}

  get size(): number {
    return this.domains.size;
  }

  /** @throws when the file cannot be read: what it said before stays */
  async reload(): Promise<void> {
    const lines = (await readFile(this.path, 'utf8')).split('\n');
    const domains = lines.map((line) =>
      line
        .replace(/#.*/, '')
        .trim()
        .toLowerCase()
        .replace(/^\*\.|\.$/g, ''),
    );
    this.domains = new Set(domains.filter((domain) => domain !== '').map(aLabels));
  }

  covers(dnsNames: readonly string[]): boolean {
    return dnsNames.some((name) => {
      for (let at = 0; at >= 0; at = name.indexOf('.', at) + 1 || -1) {
        if (this.domains.has(name.slice(at))) return true;
      }
      return false;
    });
  }
}

/** Certificates have A-labels. */
function aLabels(domain: string): string {
  return URL.canParse(`http://${domain}/`) ? new URL(`http://${domain}/`).hostname : domain;
}
