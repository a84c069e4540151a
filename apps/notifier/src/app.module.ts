import { CoreSchemaModule } from '@certwright/core-schema';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Config } from './config';
import { MailModule } from './mail/mail.module';
import { WebhooksModule } from './webhooks/webhooks.module';

/** The notifier has no front: what it needs of the framework is the database. Everything else is put together in start.ts. */
@Module({})
export class AppModule {
  static of({ DATABASE_URL: url, DATABASE_POOL_SIZE: poolSize }: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        CoreSchemaModule.forRoot({
          url,
          poolSize,
          applicationName: 'notifier',
          statementTimeoutMs: 10_000,
        }),
        MailModule,
        WebhooksModule,
      ],
    };
  }
}
