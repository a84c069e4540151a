import { CoreSchemaModule, type CoreProcess } from '@certwright/core-schema';
import { deploymentIdentity } from '@certwright/postgres';
import { RedisModule } from '@certwright/redis';
import { RunningProcess } from '@certwright/service';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ResponderConfig } from './config';
import { DnsModule } from './dns/dns.module';
import { EmailApprovalsModule } from './email-approvals/email-approvals.module';
import { LimitsModule } from './limits/limits.module';
import { WebRulesModule } from './web-rules/web-rules.module';

@Module({
  imports: [
    CoreSchemaModule.forRootAsync({
      inject: [ResponderConfig, RunningProcess],
      useFactory: (config: ResponderConfig, { name, log, readiness }: RunningProcess): CoreProcess => ({
        name,
        url: config.DATABASE_URL,
        pooler: config.DATABASE_POOLER,
        poolSize: config.DATABASE_POOL_SIZE,
        statementTimeoutMs: config.STATEMENT_TIMEOUT,
        deployment: { mode: config.CERTWRIGHT_MODE, access: 'await' },
        log,
        readiness: readiness.shared,
      }),
    }),
    RedisModule.forRootAsync({
      inject: [ResponderConfig, RunningProcess, DataSource],
      useFactory: (settings: ResponderConfig, process: RunningProcess, core: DataSource) => ({
        settings,
        process,
        findOwner: async () => await deploymentIdentity(core),
      }),
    }),
    DnsModule,
    EmailApprovalsModule,
    LimitsModule,
    WebRulesModule,
  ],
})
export class AppModule {}
