import { type Gateway, GatewayFault } from '@certwright/gateway-client';
import type { ServerAddress, ZoneNetwork } from './zone-network';

type Endpoint = 'getZones' | 'addRecord' | 'removeRecord';
type RequestOf<E extends Endpoint> = Parameters<Gateway[E]>[0];

/** Makes the next message to an endpoint fail: `before` or `after` the change is applied. */
export interface Strike {
  readonly endpoint: Endpoint;
  readonly when: 'before' | 'after';
  readonly fault?: GatewayFault;
}

/**
 * A gateway that changes the zones of a network at once, on the servers that a test chooses. With `rotates`, an
 * integration handle is valid until a response carries a new one.
 */
export class FakeGateway implements Pick<Gateway, Endpoint> {
  /** Requests in order: `add _acme-challenge.www.example.com`. */
  readonly requests: string[] = [];
  /** Servers that receive changes. */
  reaches: readonly ServerAddress[] = ['127.0.0.2', '127.0.0.3'];
  rotates = false;
  strike: Strike | null = null;
  /** Records at the provider. */
  readonly records = new Map<string, string>();
  private readonly handles = new Map<string, string>();
  private count = 0;

  /** @param zones of an integration, by its id */
  constructor(
    private readonly network: ZoneNetwork,
    private readonly zones: (integrationId: string) => readonly string[],
  ) {}

  async getZones(about: RequestOf<'getZones'>) {
    return await this.respond('getZones', about, 'zones', () => {
      return { zones: this.zones(about.integration_id).map((name) => ({ id: `id of ${name}`, name })) };
    });
  }

  async addRecord(about: RequestOf<'addRecord'>) {
    const { fqdn, value } = about.record;
    return await this.respond('addRecord', about, `add ${fqdn}`, () => {
      const isCovered = this.zones(about.integration_id).some((zone) => fqdn.endsWith(`.${zone}`));
      if (!isCovered) throw new GatewayFault('zone_not_found', 'The integration has no zone for this name.');
      this.set(fqdn, value);
      this.count += 1;
      return { record_handle: JSON.stringify([this.count, about.integration_id, fqdn, value]) };
    });
  }

  async removeRecord(about: RequestOf<'removeRecord'>) {
    const [, owner, fqdn, value] = JSON.parse(about.record_handle) as [number, string, string, string];
    return await this.respond('removeRecord', about, `remove ${fqdn}`, () => {
      if (owner !== about.integration_id) throw new GatewayFault('bad_handle', 'The handle is not valid.');
      if (this.records.get(fqdn) === value) this.set(fqdn, null);
      return {};
    });
  }

  /** Applies all changes so far to every server. */
  arrive(): void {
    for (const [fqdn, value] of this.records) this.network.publish(fqdn, value);
  }

  /** A change by another client at the provider. */
  set(fqdn: string, value: string | null): void {
    if (value === null) this.records.delete(fqdn);
    else this.records.set(fqdn, value);
    this.network.publish(fqdn, value, this.reaches);
  }

  private async respond<A extends object>(
    endpoint: Endpoint,
    { integration_id: id, integration: handle }: { integration_id: string; integration: string },
    request: string,
    apply: () => A,
  ): Promise<A & { integration?: string }> {
    await Promise.resolve();
    this.requests.push(request);
    if (handle !== (this.handles.get(id) ?? handle)) {
      throw new GatewayFault('bad_handle', 'The handle is not valid.');
    }
    const strike = this.strike?.endpoint === endpoint ? this.strike : null;
    if (strike !== null) this.strike = null;
    const { when, fault = new GatewayFault('unreachable', 'The DNS gateway did not answer in time.') } =
      strike ?? {};
    if (when === 'before') throw fault;
    const response = apply();
    if (when === 'after') throw fault;
    if (!this.rotates) return response;
    const fresh = `handle ${(this.count += 1)} of ${id}`;
    this.handles.set(id, fresh);
    return { ...response, integration: fresh };
  }
}
