import { Module } from '@nestjs/common';
import { CaaModule } from './caa/caa.module';
import { TlsTestModule } from './tls-test/tls-test.module';
import { WebRuleModule } from './web-rule/web-rule.module';

/** One feature per kind of question. */
@Module({ imports: [CaaModule, TlsTestModule, WebRuleModule] })
export class AppModule {}
