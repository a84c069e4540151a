import { type Gateway, GatewayFault } from '@certwright/gateway-client';
import { type ServerAddress, serverAddresses, type ZoneNetwork } from './zone-network';

type RequestOf<E extends 'addRecord' | 'removeRecord'> = Parameters<Gateway[E]>[0];

/** A gateway for one zone of a network: several TXT values per name, which reach the servers that a test chooses. */
export class TextGateway implements Pick<Gateway, 'getZones' | 'addRecord' | 'removeRecord'> {
  /** Records at the provider: `label.approval.test value`. */
  readonly records = new Set<string>();
  readonly requests: string[] = [];
  reaches: readonly ServerAddress[] = serverAddresses;
  /** Makes one message fail: `before` or `after` the change is applied. */
  strike: {
    readonly endpoint: 'add' | 'remove';
    readonly when: 'before' | 'after';
    readonly fault?: GatewayFault;
  } | null = null;

  constructor(private readonly network: ZoneNetwork) {}

  async getZones() {
    return await Promise.resolve({ zones: [] });
  }

  async addRecord({ record: { fqdn, value, type, replace } }: RequestOf<'addRecord'>) {
    if (type !== 'TXT' || replace === true) throw new Error('a value is added beside others');
    await this.apply('add', fqdn, () => this.records.add(`${fqdn} ${value}`));
    return { record_handle: `${fqdn} ${value}` };
  }

  async removeRecord({ record_handle: handle }: RequestOf<'removeRecord'>) {
    await this.apply('remove', handle.split(' ')[0] ?? '', () => this.records.delete(handle));
    return {};
  }

  private async apply(endpoint: 'add' | 'remove', fqdn: string, change: () => unknown): Promise<void> {
    await Promise.resolve();
    this.requests.push(`${endpoint} ${fqdn}`);
    const strike = this.strike?.endpoint === endpoint ? this.strike : null;
    if (strike !== null) this.strike = null;
    const { when, fault = new GatewayFault('unreachable', 'The DNS gateway did not answer in time.') } =
      strike ?? {};
    if (when === 'before') throw fault;
    change();
    const values = [...this.records].filter((record) => record.startsWith(`${fqdn} `));
    this.network.publishTexts(
      fqdn,
      values.map((record) => record.slice(fqdn.length + 1)),
      this.reaches,
    );
    if (when === 'after') throw fault;
  }
}
