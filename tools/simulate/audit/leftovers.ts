import type { Pool } from 'pg';
import { isIn, type SimulatedOrder } from '../users/order';
import type { FaultyAuthority } from '../world/faulty-authority';
import { type Findings, instant } from './findings';
import type { IssuedCertificate } from './issued';

/** Without obstacles, no work is left unfinished. */
export async function auditLeftovers(
  findings: Findings,
  auditor: Pool,
  orders: ReadonlyMap<string, SimulatedOrder>,
): Promise<void> {
  const left: Readonly<Record<string, string>> = {
    'job in the outbox': `SELECT job_id AS id FROM outbox`,
    'lease of an issuance': `SELECT id FROM issuance WHERE state = 'open' AND leased_until > now()`,
    'lease of a delivery': `SELECT id FROM webhook_delivery WHERE leased_until > now()`,
    'lease of a mail': `SELECT id FROM mail WHERE state = 'pending' AND leased_until > now()`,
    'mail that was not sent': `SELECT id FROM mail WHERE state = 'pending' OR state = 'failed'`,
    'delivery that did not arrive': `SELECT id FROM webhook_delivery WHERE state IN ('pending', 'failed')`,
    'revocation that the CA does not know': `SELECT id FROM certificate WHERE revoked_at IS NOT NULL AND ca_revoked_at IS NULL AND not_after >= now()`,
    'unannounced certificate': `SELECT id FROM plan WHERE current_version > announced_version`,
  };
  for (const [what, statement] of Object.entries(left)) {
    findings.checked.leftovers += 1;
    const { rows } = await auditor.query<{ id: string }>(statement);
    for (const { id } of rows) findings.report('lost', 'leftovers', id, `${what} is left`);
  }
  await auditOpenIssuances(findings, auditor, orders);
}

/** Issuances that wait for their users may be open. */
async function auditOpenIssuances(
  findings: Findings,
  auditor: Pool,
  orders: ReadonlyMap<string, SimulatedOrder>,
): Promise<void> {
  const { rows } = await auditor.query<{ id: string; plan_id: string; opened_at: Date }>(
    `SELECT id, plan_id, opened_at FROM issuance WHERE state = 'open'`,
  );
  const { endMs } = findings.time;
  for (const { id, plan_id, opened_at } of rows) {
    const order = orders.get(plan_id);
    if (order !== undefined && isIn(order.excuses, endMs)) continue;
    const due = { from: opened_at.getTime(), to: endMs };
    const excuses = order === undefined ? [] : findings.excusesOf(order);
    if (findings.latenessMs(due, excuses) === 0) continue;
    findings.report(
      'lost',
      'leftovers',
      order?.name ?? plan_id,
      `issuance ${id} of ${instant(due.from)} is still open`,
    );
  }
}

/** Each signed certificate is attached, unless its issuance was ended; the CA signs one certificate per issuance. */
export async function auditSignings(
  findings: Findings,
  auditor: Pool,
  { issued: signed }: FaultyAuthority,
  issued: ReadonlyMap<string, readonly IssuedCertificate[]>,
): Promise<void> {
  const attached = new Map([...issued.values()].flat().map((one) => [one.issuanceId, one]));
  const { rows } = await auditor.query<{ id: string; state: string }>(`SELECT id, state FROM issuance`);
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  for (const [issuanceId, digests] of signed) {
    const id = `issuance ${issuanceId}`;
    if (digests.size > 1)
      findings.report('duplicated', 'certificates', id, `the CA signed ${digests.size} certificates`);
    const own = attached.get(issuanceId);
    if (own !== undefined && !digests.has(own.sha256))
      findings.report('wrong', 'certificates', id, `certificate ${own.id} was not signed by the CA`);
    const state = states.get(issuanceId) ?? 'missing';
    if (own === undefined && ['open', 'issued', 'missing'].includes(state))
      findings.report(
        'lost',
        'certificates',
        id,
        `the CA signed a certificate that is not attached (${state})`,
      );
  }
  for (const own of attached.values()) {
    if (!signed.has(own.issuanceId))
      findings.report(
        'wrong',
        'certificates',
        `issuance ${own.issuanceId}`,
        'the CA did not sign its certificate',
      );
  }
}
