import { type CtProcess, CtSchemaModule } from '@certwright/ct-schema';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { Config } from './config';
import { FollowingModule } from './following/following.module';
import { statementTimeoutMs } from './housekeeping/housekeeping';
import { HousekeepingModule } from './housekeeping/housekeeping.module';
import { IssuersModule } from './issuers/issuers.module';
import { LogListModule } from './log-list/log-list.module';
import { RevocationModule } from './revocation/revocation.module';
import { WatchModule } from './watch/watch.module';

@Module({
  imports: [
    CtSchemaModule.forRootAsync({
      inject: [Config, RunningProcess],
      useFactory: (
        { CT_DATABASE_URL: url, DATABASE_POOLER: pooler, CT_DATABASE_POOL_SIZE: poolSize }: Config,
        { name, log, readiness }: RunningProcess,
      ): CtProcess => ({ name, url, pooler, poolSize, statementTimeoutMs, log, readiness }),
    }),
    FollowingModule,
    HousekeepingModule,
    IssuersModule,
    LogListModule,
    RevocationModule,
    WatchModule,
  ],
})
export class AppModule {}
