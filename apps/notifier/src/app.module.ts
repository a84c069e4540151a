import { JobProcessorsModule, JobQueuesModule, type JobsOptions } from '@certwright/bullmq';
import { CoreSchemaModule } from '@certwright/core-schema';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from './config';
import { MailModule } from './mail/mail.module';
import { WebhooksModule } from './webhooks/webhooks.module';

const inject = [Config, RunningProcess];

const jobs = {
  inject,
  useFactory: ({ REDIS_URL: redisUrl }: Config, { log, readiness }: RunningProcess): JobsOptions => ({
    redisUrl,
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
    JobQueuesModule.forRootAsync(jobs),
    JobProcessorsModule.forRootAsync(jobs),
    MailModule,
    WebhooksModule,
  ],
})
export class AppModule {}
