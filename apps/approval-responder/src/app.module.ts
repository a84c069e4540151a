import { CoreSchemaModule } from '@certwright/core-schema';
import { ApprovalsModule } from '@certwright/approvals';
import { type DynamicModule, Module } from '@nestjs/common';
import { ResponderConfig } from './config';
import { ApprovalController } from './email-approvals/approval.controller';
import { ChallengesController } from './web-rules/challenges.controller';

@Module({})
export class AppModule {
  static forRoot(config: ResponderConfig): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CoreSchemaModule.forRoot({
          url: config.DATABASE_URL,
          applicationName: 'approval-responder',
          poolSize: config.DATABASE_POOL_SIZE,
          statementTimeoutMs: config.STATEMENT_TIMEOUT,
        }),
        ApprovalsModule,
      ],
      controllers: [ChallengesController, ApprovalController],
      providers: [{ provide: ResponderConfig, useValue: config }],
    };
  }
}
