// @ts-check
// The text of a zone in master file format (RFC 1035, section 5).
/** @import { ServerOptions, ZoneOptions } from './options.mjs' */

/**
 * The zone of its primary. The servers that have it are its name servers ns1, ns2 …, in their order.
 * @param {ZoneOptions} zone
 * @param {readonly ServerOptions[]} servers
 */
export function zoneFile(zone, servers) {
  return [
    `$ORIGIN ${zone.name}.`,
    '$TTL 1',
    `@ IN SOA ns1 hostmaster 1 ${zone.refreshS ?? 3600} ${zone.refreshS ?? 600} 86400 1`,
    ...zoneRecords(zone, servers),
    '',
  ].join('\n');
}

/** @param {ZoneOptions} zone @param {readonly ServerOptions[]} servers */
export function zoneRecords({ name, records = [] }, servers) {
  return [
    ...addressesOf(name, servers).flatMap((address, n) => [
      `@ IN NS ns${n + 1}`,
      `ns${n + 1} IN A ${address}`,
    ]),
    ...records,
  ];
}

/** @param {string} zone @param {readonly ServerOptions[]} servers */
export const addressesOf = (zone, servers) =>
  servers.filter(({ zones }) => zones.some(({ name }) => name === zone)).map(({ address }) => address);
