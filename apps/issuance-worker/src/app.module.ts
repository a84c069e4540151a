import { JobProcessorsModule, JobQueuesModule, type JobsOptions } from '@certwright/bullmq';
import { type CoreProcess, CoreSchemaModule } from '@certwright/core-schema';
import { deploymentIdentity } from '@certwright/postgres';
import { RedisModule } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CertificateAuthoritiesModule } from './certificate-authorities/certificate-authorities.module';
import { Config } from './config';
import { HousekeepingModule } from './housekeeping/housekeeping.module';
import { IntegrationsModule } from './integrations/integrations.module';
import { IssuanceModule } from './issuance/issuance.module';
import { LogSubmissionsModule } from './log-submissions/log-submissions.module';
import { NoticesModule } from './notices/notices.module';
import { RenewalsModule } from './renewals/renewals.module';
import { RevocationsModule } from './revocations/revocations.module';

const inject = [Config, RunningProcess];

const jobs = {
  inject: [...inject, RedisAccess],
  useFactory: (
    { JOB_CONCURRENCY: issuance }: Config,
    { log, readiness }: RunningProcess,
    redis: RedisAccess,
  ): JobsOptions => ({ redis, log, readiness, concurrency: { issuance } }),
};

@Module({
  imports: [
    CoreSchemaModule.forRootAsync({
      inject,
      useFactory: (config: Config, { name, log, readiness }: RunningProcess): CoreProcess => ({
        name,
        url: config.DATABASE_URL,
        pooler: config.DATABASE_POOLER,
        poolSize: config.DATABASE_POOL_SIZE,
        statementTimeoutMs: 10_000,
        deployment: { mode: config.CERTWRIGHT_MODE, access: 'claim' },
        log,
        readiness,
      }),
    }),
    RedisModule.forRootAsync({
      inject: [...inject, DataSource],
      useFactory: (settings: Config, process: RunningProcess, core: DataSource) => ({
        settings,
        process,
        findOwner: async () => await deploymentIdentity(core),
      }),
    }),
    JobQueuesModule.forRootAsync(jobs),
    JobProcessorsModule.forRootAsync(jobs),
    CertificateAuthoritiesModule,
    HousekeepingModule,
    IntegrationsModule,
    IssuanceModule,
    LogSubmissionsModule,
    NoticesModule,
    RenewalsModule,
    RevocationsModule,
  ],
})
export class AppModule {}
