import { type Front, startFront } from '@certwright/api-front';
import { AppModule } from './app.module';
import { CertsConfig } from './config';
import { openApiDocument } from './docs/openapi-document';
import { jsonContentType } from './wire/response';
import { renderProblem } from './wire/problem';

export const front: Front = {
  module: AppModule,
  token: CertsConfig,
  renderProblem,
  jsonContentType,
  acceptForms: true,
  passwords: true,
  documentation: { path: '/api/v2', document: openApiDocument },
};

export const start = startFront(front);
