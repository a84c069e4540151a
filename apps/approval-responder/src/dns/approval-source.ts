import type { DnsName, RecordSource, ZoneSlice } from '@certwright/dns-authority';
import { classifyName } from './queried-name';
import type { KnownValues } from './known-values';
import type { ZoneRecords } from './zone-records';

/** The data of this server: the approval zone, and names that customers have delegated to it. */
export class ApprovalSource implements RecordSource {
  readonly #fixedNames: ReadonlySet<DnsName>;
  readonly #apex: DnsName;

  constructor(
    private readonly records: ZoneRecords,
    private readonly values: Pick<KnownValues, 'at'>,
  ) {
    this.#fixedNames = records.fixedNames;
    this.#apex = records.fixedSlice().apex;
  }

  /** Skips the look-up when the name alone shows that it does not exist. */
  read(name: DnsName): ZoneSlice | undefined | Promise<ZoneSlice | undefined> {
    const queried = classifyName(name, this.#apex, this.#fixedNames);
    switch (queried.kind) {
      case 'fixed':
      case 'missing':
        return this.records.fixedSlice();
      case 'target':
        return this.#target(queried.label);
      case 'delegated':
        return this.#delegated(queried.apex, queried.dnsName);
      case 'foreign':
        return undefined;
    }
  }

  async #target(label: string): Promise<ZoneSlice> {
    return this.records.targetSlice(label, await this.values.at(`target:${label}`));
  }

  async #delegated(apex: DnsName, dnsName: string): Promise<ZoneSlice | undefined> {
    const values = await this.values.at(`name:${dnsName}`);
    return values === null ? undefined : this.records.delegatedSlice(apex, values);
  }
}
