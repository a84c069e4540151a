import { type Front, startFront } from '@certwright/api-front';
import { renderErrorObject } from '@certwright/service';
import { AppModule } from './app.module';
import { MonitoringConfig } from './config';
import { openApiDocument } from './docs/openapi-document';
import { apiPath } from './wire/addresses';

const front: Front = {
  module: AppModule,
  token: MonitoringConfig,
  renderProblem: renderErrorObject,
  documentation: { path: apiPath, document: openApiDocument },
};

export const start = startFront(front);
