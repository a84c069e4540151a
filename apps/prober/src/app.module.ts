import { type DynamicModule, Module } from '@nestjs/common';
import { WebRuleController } from './web-rule/web-rule.controller';
import { WebRuleProbe } from './web-rule/web-rule-probe';

/** One controller per kind of question. */
@Module({})
export class AppModule {
  static of(webRuleProbe: WebRuleProbe): DynamicModule {
    return {
      module: AppModule,
      controllers: [WebRuleController],
      providers: [{ provide: WebRuleProbe, useValue: webRuleProbe }],
    };
  }
}
