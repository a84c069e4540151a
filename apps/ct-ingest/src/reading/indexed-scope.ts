import { readFile } from 'node:fs/promises';

/** Selects the issuances to store, by their names. */
export interface IndexedScope {
  covers(dnsNames: readonly string[]): boolean;
}

export const everything: IndexedScope = { covers: () => true };

/** Issuances with a name at or below one of some domains. */
export class MonitoredDomains implements IndexedScope {
  private domains: ReadonlySet<string> = new Set();
  /** Max number of labels of the domains: longer suffixes of a name are not looked up. */
  private maxLabels = 0;

  constructor(private readonly path: string) {}

  get size(): number {
    return this.domains.size;
  }

  /** @throws when the file cannot be read: the previous domains stay */
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
    this.maxLabels = Math.max(0, ...Array.from(this.domains, (domain) => domain.split('.').length));
  }

  covers(dnsNames: readonly string[]): boolean {
    return dnsNames.some((name) => {
      let dot = name.length;
      for (let labels = 1; labels <= this.maxLabels && dot > 0; labels += 1) {
        dot = name.lastIndexOf('.', dot - 1);
        const end = name.slice(dot + 1);
        // As in a search, `*example.com` is below `example.com`.
        if (this.domains.has(end) || (end.startsWith('*') && this.domains.has(end.slice(1)))) return true;
      }
      return false;
    });
  }
}

/** Certificates have A-labels. */
function aLabels(domain: string): string {
  return URL.canParse(`http://${domain}/`) ? new URL(`http://${domain}/`).hostname : domain;
}
