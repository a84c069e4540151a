import { Module } from '@nestjs/common';
import { CaaModule } from './caa/caa.module';
import { LooksModule } from './looks/looks.module';
import { WebRuleModule } from './web-rule/web-rule.module';

/** One feature per kind of question. */
@Module({ imports: [CaaModule, LooksModule, WebRuleModule] })
export class AppModule {}
