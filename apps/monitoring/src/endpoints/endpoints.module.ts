import { MonitoredEndpointsModule } from '@certwright/monitored-endpoints';
import { Module } from '@nestjs/common';
import { ChangeEndpoint } from './change-endpoint.use-case';
import { EndpointsController } from './endpoints.controller';
import { Endpoints } from './endpoints.repository';

@Module({
  imports: [MonitoredEndpointsModule],
  controllers: [EndpointsController],
  providers: [Endpoints, ChangeEndpoint],
  exports: [Endpoints],
})
export class EndpointsModule {}
