import { CoreSchemaModule, OutboxWrites } from '@certwright/core-schema';
import { deploymentIdentity } from '@certwright/postgres';
import { OutboxNews, RedisModule } from '@certwright/redis';
import { RedisAccess } from '@certwright/redis-client';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BackfillModule } from './backfill/backfill.module';
import { Config } from './config';
import { CtDatabaseModule } from './ct-database/ct-database.module';
import { EndpointsModule } from './endpoints/endpoints.module';
import { FollowingModule } from './following/following.module';
import { AlertsModule } from './alerts/alerts.module';
import { FindingsModule } from './findings/findings.module';
import { HousekeepingModule } from './housekeeping/housekeeping.module';
import { MailsModule } from './mails/mails.module';
import { OwnIssuanceModule } from './own-issuance/own-issuance.module';
import { TasksModule } from './tasks/tasks.module';

@Module({
  imports: [
    CoreSchemaModule.forRootAsync({
      inject: [Config, RunningProcess],
      useFactory: (
        { DATABASE_URL: url, DATABASE_POOLER: pooler, DATABASE_POOL_SIZE: poolSize }: Config,
        { name, log, readiness }: RunningProcess,
      ) => ({
        name,
        url,
        pooler,
        poolSize,
        statementTimeoutMs: 10_000,
        plansEachTime: true,
        deployment: null,
        log,
        readiness,
      }),
    }),
    RedisModule.forRootAsync({
      inject: [Config, RunningProcess, DataSource],
      useFactory: (settings: Config, process: RunningProcess, core: DataSource) => ({
        settings,
        process,
        findOwner: async () => await deploymentIdentity(core),
      }),
    }),
    CtDatabaseModule,
    AlertsModule,
    EndpointsModule,
    FindingsModule,
    HousekeepingModule,
    MailsModule,
    OwnIssuanceModule,
    TasksModule,
    FollowingModule,
    BackfillModule,
  ],
  providers: [
    {
      provide: OutboxNews,
      inject: [RedisAccess, OutboxWrites, RunningProcess],
      useFactory: (redis: RedisAccess, writes: OutboxWrites, running: RunningProcess) =>
        new OutboxNews(redis, writes, running),
    },
  ],
})
export class AppModule {}
