import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { StartFault } from '@certwright/errors';
import { fileFault, repeat, RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { GatewayConfig } from '../config';
import { AuditLog } from './audit-log';
import { recentEntries } from './last-state';
import { OwnAdditions } from './own-additions';

/**
 * How often the head of the audit log is written to the process log, which is stored elsewhere. Rewriting entries
 * before that head is then detectable.
 */
const headEveryMs = 3_600_000;

const instanceOf = ({ AUDIT_INSTANCE }: GatewayConfig): string => AUDIT_INSTANCE ?? hostname();

async function openAudit(config: GatewayConfig, running: RunningProcess): Promise<AuditLog> {
  const { log, readiness, metrics } = running;
  const audit = await AuditLog.open({
    folder: config.AUDIT_DIR,
    instance: instanceOf(config),
    now: () => new Date(),
  }).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === undefined ? `: ${message}` : ` cannot be written: ${fileFault(error)}`;
    throw new StartFault(`AUDIT_DIR${reason}`, { cause: error });
  });
  running.opened('audit', () => audit.close());
  readiness.add('audit', async () => {
    const fault = audit.failure();
    if (fault !== null)
      throw new Error(`AUDIT_DIR: ${fault.message} Nothing is changed. Fix the volume, then restart.`);
    await Promise.resolve();
  });
  new Gauge({
    name: 'certwright_audit_volume_free_ratio',
    help: 'Free share of the volume of AUDIT_DIR, 0 to 1',
    registers: [metrics.registry],
    async collect() {
      const { bavail, blocks } = await statfs(config.AUDIT_DIR);
      this.set(bavail / blocks);
    },
  });
  const logHead = async () => {
    log.info({ ...audit.head() }, 'head of the audit log');
    return await Promise.resolve(headEveryMs);
  };
  const heads = repeat(logHead, {
    afterErrorMs: headEveryMs,
    onError: (err) => log.error({ err }, 'head of the audit log not logged'),
  });
  running.opened('audit heads', () => heads.stop());
  return audit;
}

@Module({
  providers: [
    { provide: AuditLog, inject: [GatewayConfig, RunningProcess], useFactory: openAudit },
    {
      provide: OwnAdditions,
      // After the log was opened, which ends a line cut off by a crash.
      inject: [GatewayConfig, AuditLog],
      useFactory: async (config: GatewayConfig) =>
        OwnAdditions.from(await recentEntries(config.AUDIT_DIR, instanceOf(config))),
    },
  ],
  exports: [AuditLog, OwnAdditions],
})
export class AuditModule {}
