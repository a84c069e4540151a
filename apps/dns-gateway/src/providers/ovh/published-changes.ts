import type { Zone } from '@certwright/gateway-contract';
import type { DnsRecord, ProviderSession } from '../dns-provider';
import { afterChange } from '../provider-fault';
import { recordChanges, type RecordPorts } from '../records/record-changes';

export interface PublishingPorts extends RecordPorts {
  /** Publishes the changes to the name servers. May be repeated. */
  publish(zone: Zone): Promise<void>;
}

/**
 * Changes that take effect only when the zone is published. Also publishes when the record already existed or was
 * already removed: an earlier change may have been interrupted before publication.
 */
export function publishedChanges(
  ports: PublishingPorts,
  signal: AbortSignal,
): Pick<ProviderSession, 'add' | 'replace' | 'remove'> {
  const { add, replace, remove } = recordChanges(ports, signal);
  const published =
    <T>(change: (zone: Zone, record: DnsRecord) => Promise<T>) =>
    async (zone: Zone, record: DnsRecord) => {
      const outcome = await change(zone, record);
      try {
        await ports.publish(zone);
      } catch (error) {
        throw outcome === 'created' ? afterChange(error) : error;
      }
      return outcome;
    };
  return { add: published(add), replace: published(replace), remove: published(remove) };
}
