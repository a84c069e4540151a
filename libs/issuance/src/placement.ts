import type { ApprovalRecord } from './approval-record';
import type { Issuance } from './issuance';

/** A zone of an integration of the account that is not deleted. */
export interface IntegrationZone {
  readonly integrationId: string;
  /** Lower case, A-labels, no dot at the end. */
  readonly zoneName: string;
  /** Whether the integration works. */
  readonly ok: boolean;
  /** When the integration was made. */
  readonly createdAt: Date;
}

/** A record of the account that is not removed. */
export interface LiveRecord extends ApprovalRecord {
  readonly zoneName: string;
  /** Whether the plan in question uses it. */
  readonly linked: boolean;
}

/** What the account's integrations can publish, and already publish, for the names of one plan. */
export interface Coverage {
  readonly zones: readonly IntegrationZone[];
  /** By name, without `*.`. */
  readonly records: ReadonlyMap<string, LiveRecord>;
}

export const noCoverage: Coverage = { zones: [], records: new Map() };

/** Where a record is published. */
export interface Placement {
  /** Without `*.`. */
  readonly dnsName: string;
  readonly integrationId: string;
  readonly zoneName: string;
}

/** The name, its parent, and so on: the candidates for its zone. */
export function zoneNamesOver(dnsName: string): readonly string[] {
  const labels = dnsName.split('.');
  return labels.map((_, at) => labels.slice(at).join('.'));
}

/**
 * The longest matching zone contains the name, since shorter ones have delegated it. Among several integrations with
 * that zone, the oldest working one is used, else the oldest.
 *
 * @param dnsName without `*.`
 */
export function zoneFor(dnsName: string, zones: readonly IntegrationZone[]): IntegrationZone | null {
  const over = new Set(zoneNamesOver(dnsName));
  const [best = null] = zones
    .filter(({ zoneName }) => over.has(zoneName))
    .sort(
      (one, other) =>
        other.zoneName.length - one.zoneName.length ||
        Number(other.ok) - Number(one.ok) ||
        one.createdAt.getTime() - other.createdAt.getTime() ||
        (one.integrationId < other.integrationId ? -1 : 1),
    );
  return best;
}

/**
 * Which names of an issuance an integration is to publish a record for, and through which one.
 *
 * @param dnsNames without `*.`
 */
export function placements(
  dnsNames: readonly string[],
  { openedAt }: Pick<Issuance, 'openedAt'>,
  { zones, records }: Coverage,
): readonly Placement[] {
  return dnsNames.flatMap((dnsName) => {
    const zone = zoneFor(dnsName, zones);
    if (zone === null) return [];
    const record = records.get(dnsName);
    const kept = record !== undefined && isInPlace(record, zone, zones);
    if (kept && record.linked && !wantedAgain(record, openedAt)) return [];
    // A record of another plan in a working place is kept there.
    const { integrationId, zoneName } = kept ? record : zone;
    return [{ dnsName, integrationId, zoneName }];
  });
}

/** Moves to another integration when its own is deleted, has lost the zone, or fails while another one works. */
function isInPlace(record: LiveRecord, best: IntegrationZone, zones: readonly IntegrationZone[]): boolean {
  return zones.some(
    ({ integrationId, zoneName, ok }) =>
      integrationId === record.integrationId &&
      zoneName === best.zoneName &&
      zoneName === record.zoneName &&
      (ok || !best.ok),
  );
}

/** A record that was replaced and left alone is retried for an issuance opened after that. */
function wantedAgain({ stoppedAt, dueAt }: LiveRecord, openedAt: Date): boolean {
  return stoppedAt !== null && dueAt === null && openedAt.getTime() > stoppedAt.getTime();
}
