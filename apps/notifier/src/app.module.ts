import { JobProcessorsModule, JobQueuesModule, type JobsOptions } from '@certwright/bullmq';
import { CoreSchemaModule } from '@certwright/core-schema';
import { deploymentIdentity } from '@certwright/postgres';
import { RedisModule } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from './config';
import { MailModule } from './mail/mail.module';
import { WebhooksModule } from './webhooks/webhooks.module';

const inject = [Config, RunningProcess];

const jobs = {
  inject: [RedisAccess, RunningProcess],
  useFactory: (redis: RedisAccess, { log, readiness }: RunningProcess): JobsOptions => ({
    redis,
    log,
    readiness,
  }),
};

@Module({
  imports: [
    CoreSchemaModule.forRootAsync({
      inject,
      useFactory: (
        { DATABASE_URL: url, DATABASE_POOLER: pooler, DATABASE_POOL_SIZE: poolSize }: Config,
        { name, log, readiness }: RunningProcess,
      ) => ({ name, url, pooler, poolSize, statementTimeoutMs: 10_000, deployment: null, log, readiness }),
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
    MailModule,
    WebhooksModule,
  ],
})
export class AppModule {}
