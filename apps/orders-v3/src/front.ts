import { type Front, startFront } from '@certwright/api-front';
import { renderErrorObject } from '@certwright/service';
import { AgentSignatures } from './agents/agent-signatures';
import { AppModule } from './app.module';
import { OrdersConfig } from './config';
import { openApiDocument } from './docs/openapi-document';
import { apiPath } from './wire/addresses';

export const front: Front = {
  module: AppModule,
  token: OrdersConfig,
  renderProblem: renderErrorObject,
  signedRequests: AgentSignatures,
  documentation: { path: apiPath, document: openApiDocument },
};

export const start = startFront(front);
