import { type DynamicModule, Module } from '@nestjs/common';
import { InstallationTest } from './tls-test/installation-test';
import { TlsTestController } from './tls-test/tls-test.controller';
import { WebRuleController } from './web-rule/web-rule.controller';
import { WebRuleProbe } from './web-rule/web-rule-probe';

/** One controller per kind of question. */
@Module({})
export class AppModule {
  static of(webRuleProbe: WebRuleProbe, installationTest: InstallationTest): DynamicModule {
    return {
      module: AppModule,
      controllers: [WebRuleController, TlsTestController],
      providers: [
        { provide: WebRuleProbe, useValue: webRuleProbe },
        { provide: InstallationTest, useValue: installationTest },
      ],
    };
  }
}
