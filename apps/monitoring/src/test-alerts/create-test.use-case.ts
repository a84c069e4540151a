import { createHash, randomBytes } from 'node:crypto';
import type { FindingEndpoint, Tx } from '@certwright/core-schema';
import { type CallerIdentity, type HttpResponse, jsonResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { certificateJson } from '../certificates/certificate';
import { Findings } from '../certificates/findings.repository';
import { MonitoringChanges } from '../changes/monitoring-changes';
import { Addresses } from '../wire/addresses';
import { maxTestsPerHour, tooManyTests } from '../wire/problems';

/** Of an account without enabled monitored domains; RFC 2606, section 3. */
const placeholder = 'example.com';

/** Creates a certificate that does not exist, to test alerts: the worker classifies and reports it as any other. */
@Injectable()
export class CreateTest {
  constructor(
    private readonly changes: MonitoringChanges,
    private readonly findings: Findings,
    private readonly addresses: Addresses,
  ) {}

  /** @throws Problem `rate_limited` */
  async run(caller: CallerIdentity): Promise<HttpResponse> {
    return await this.changes.run(caller, async ({ tx, accountId }) => {
      await checkRate(tx, accountId);
      const domain = (await enabledDomain(tx, accountId)) ?? placeholder;
      const tbsSha256 = randomBytes(32);
      await addTest(tx, accountId, tbsSha256, domain);
      const created = await this.findings.get(accountId, tbsSha256, tx);
      if (created === null) throw new Error('a test was not stored');
      const location = this.addresses.certificate(tbsSha256.toString('hex'));
      return jsonResponse(202, certificateJson(created), { location });
    });
  }
}

/** The rows count, so that the limit holds without Redis too. The caller holds the lock of the account. */
async function checkRate(tx: Tx, accountId: string): Promise<void> {
  const [{ tests, wait_s }] = await tx.query<[{ tests: number; wait_s: number | null }]>(
    `SELECT count(*)::int AS tests,
       ceil(extract(epoch FROM min(found_at) + interval '1 hour' - now()))::int AS wait_s
     FROM monitoring_finding
     WHERE account_id = $1 AND source = 'test' AND found_at > now() - interval '1 hour'`,
    [accountId],
  );
  if (tests >= maxTestsPerHour) throw tooManyTests(Math.max(1, wait_s ?? 1));
}

async function enabledDomain(tx: Tx, accountId: string): Promise<string | null> {
  const [row] = await tx.query<{ name: string }[]>(
    `SELECT name FROM monitored_domain WHERE account_id = $1 AND enabled ORDER BY name LIMIT 1`,
    [accountId],
  );
  return row?.name ?? null;
}

/** Classified at once, when the delay of the account has passed. */
async function addTest(tx: Tx, accountId: string, tbsSha256: Buffer, domain: string): Promise<void> {
  const name = domain.replace(/^\./, '');
  const endpoint: FindingEndpoint = {
    dns_name: name,
    monitored_domain: domain,
    wildcard: false,
    odd_name: false,
  };
  await tx.query(
    `INSERT INTO monitoring_finding (account_id, tbs_sha256, spki_sha256, not_before, not_after, dns_names_sha256,
       endpoints, endpoint_count, dns_names, monitored_domains, source, state, reason, classify_at)
     VALUES ($1, $2, $3, now(), now() + interval '1 day', $4, $5, 1, $6, $7, 'test', 'waiting', 'waiting', now())`,
    [
      accountId,
      tbsSha256,
      randomBytes(32),
      createHash('sha256').update(name).digest(),
      JSON.stringify([endpoint]),
      [name],
      [domain],
    ],
  );
}
