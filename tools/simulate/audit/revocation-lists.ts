import type { SimulatedOrder } from '../users/order';
import { type Findings, hours, instant } from './findings';
import type { IssuedCertificate } from './issued';
import type { Observations } from './observations';

/** Revoked certificates are on the list until they expire, and the list is always current. */
export function auditRevocationLists(
  findings: Findings,
  observations: Observations,
  issued: ReadonlyMap<string, readonly IssuedCertificate[]>,
  orders: readonly SimulatedOrder[],
): void {
  findings.checked['revocation lists'] += observations.lists;
  for (const problem of observations.problems)
    findings.report('wrong', 'revocation lists', 'intermediate', problem);
  const certificates = [...issued.values()].flat();
  const byId = new Map(certificates.map((one) => [one.id, one]));
  for (const { certificateId, atMs } of orders.flatMap(({ revoked }) => revoked)) {
    if (byId.get(certificateId)?.revokedMs !== null && byId.has(certificateId)) continue;
    findings.report(
      'lost',
      'revocation lists',
      certificateId,
      `its revocation of ${instant(atMs)} is not stored`,
    );
  }
  for (const certificate of certificates) auditCertificate(findings, observations, certificate);
}

function auditCertificate(
  findings: Findings,
  { listed, unlisted }: Observations,
  certificate: IssuedCertificate,
): void {
  const { id, serialNumber, revokedMs, notAfter } = certificate;
  const listedMs = listed.get(serialNumber);
  if (revokedMs === null) {
    if (listedMs !== undefined)
      findings.report(
        'wrong',
        'revocation lists',
        id,
        `is on the list since ${instant(listedMs)}, but was not revoked`,
      );
    return;
  }
  const end = Math.min(listedMs ?? Infinity, notAfter, findings.time.endMs);
  const late = findings.latenessMs({ from: revokedMs, to: end }, findings.authorityOutages());
  if (late > 0) {
    const text = `was revoked at ${instant(revokedMs)}, and ${listedMs === undefined ? 'is not on the list' : `is on the list ${hours(late)} late`}`;
    findings.report(listedMs === undefined ? 'lost' : 'late', 'revocation lists', id, text);
  }
  const unlistedMs = unlisted.get(serialNumber);
  if (unlistedMs !== undefined && unlistedMs < notAfter)
    findings.report(
      'lost',
      'revocation lists',
      id,
      `left the list at ${instant(unlistedMs)}, before it expired`,
    );
}
