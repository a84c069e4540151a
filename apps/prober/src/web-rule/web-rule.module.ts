import { Module } from '@nestjs/common';
import { ResolversModule } from '../resolvers/resolvers.module';
import { WebRuleProbe } from './web-rule-probe';
import { WebRuleController } from './web-rule.controller';

/** What the web server of a name responds with, as a CA sees it. */
@Module({ imports: [ResolversModule], controllers: [WebRuleController], providers: [WebRuleProbe] })
export class WebRuleModule {}
