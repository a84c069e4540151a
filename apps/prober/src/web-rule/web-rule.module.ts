import { Module } from '@nestjs/common';
import { AddressGuardModule } from '../address-guard/address-guard.module';
import { WebRuleProbe } from './web-rule-probe';
import { WebRuleController } from './web-rule.controller';

/** What the web server of a name responds with, as a CA sees it. */
@Module({ imports: [AddressGuardModule], controllers: [WebRuleController], providers: [WebRuleProbe] })
export class WebRuleModule {}
