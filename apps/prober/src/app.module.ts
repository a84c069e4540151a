import { Module } from '@nestjs/common';
import { TlsTestModule } from './tls-test/tls-test.module';
import { WebRuleModule } from './web-rule/web-rule.module';

/** One feature per kind of question. */
@Module({ imports: [TlsTestModule, WebRuleModule] })
export class AppModule {}
