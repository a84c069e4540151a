import { ProcessModule, RunningProcess } from '@certwright/service';
import { type DynamicModule, Module } from '@nestjs/common';
import { GatewayConfig } from './config';
import { DescriptionModule } from './description/description.module';
import { IntegrationsModule } from './integrations/integrations.module';

@Module({ imports: [IntegrationsModule, DescriptionModule] })
export class AppModule {
  static forRoot(config: GatewayConfig, running: RunningProcess): DynamicModule {
    const process = ProcessModule.of([
      { provide: GatewayConfig, useValue: config },
      { provide: RunningProcess, useValue: running },
    ]);
    return { module: AppModule, imports: [process] };
  }
}
