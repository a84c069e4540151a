import { runJobs } from '@certwright/bullmq';
import { PendingRevocations } from './pending-revocations';
import type { RunningProcess } from '@certwright/service';
import type { INestApplicationContext } from '@nestjs/common';
import { Counter } from 'prom-client';
import { revokeCertificate, type RevocationPorts } from './revoke-certificate';

/** Takes revocations from their queue until the process stops. */
export function runRevocations(
  redisUrl: string,
  { log, metrics, opened }: RunningProcess,
  context: INestApplicationContext,
  issuers: RevocationPorts['issuers'],
): void {
  const revoked = new Counter({
    name: 'certwright_certificates_revoked_total',
    help: 'Revocations confirmed by the CA',
    registers: [metrics.registry],
  });
  const ports: RevocationPorts = {
    pending: context.get(PendingRevocations),
    issuers,
    revoked: ({ certificateId, accountId, serialNumber, reason }) => {
      revoked.inc();
      log.info({ certificate: certificateId, account: accountId, serialNumber, reason }, 'revoked');
    },
  };
  const runner = runJobs(
    redisUrl,
    'revocations',
    { 'revoke-certificate': async ({ certificateId }) => await revokeCertificate(ports, certificateId) },
    {
      failed: (job, error) => log.error({ job, err: error }, 'job failed; its row brings it back'),
      error: (error) => log.warn({ err: error }, 'redis'),
    },
  );
  opened('revocation jobs', async () => await runner.close());
}
