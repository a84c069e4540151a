import { controllersDocument } from '@certwright/service';
import { DocumentBuilder, type OpenAPIObject } from '@nestjs/swagger';
import { AgentsController } from '../agents/agents.controller';
import { CertificatesController } from '../certificates/certificates.controller';
import { ClustersController } from '../clusters/clusters.controller';
import { MembersController } from '../clusters/members.controller';
import {
  DnsIntegrationsController,
  DnsProvidersController,
} from '../dns-integrations/dns-integrations.controller';
import { DownloadController } from '../download/download.controller';
import { OrdersController } from '../orders/orders.controller';
import { PublicationsController } from '../publications/publications.controller';
import { DeliveriesController } from '../webhooks/deliveries.controller';
import { WebhooksController } from '../webhooks/webhooks.controller';
import { errorExamples } from '../wire/documented-errors';
import { examples } from './examples';

const controllers = [
  OrdersController,
  CertificatesController,
  ClustersController,
  MembersController,
  AgentsController,
  WebhooksController,
  DeliveriesController,
  DnsProvidersController,
  DnsIntegrationsController,
  DownloadController,
  PublicationsController,
];

/** Needs neither database nor Redis. */
export async function openApiDocument(): Promise<OpenAPIObject> {
  const about = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Certwright: orders')
    .setDescription('Issues TLS certificates and keeps them valid.')
    .setVersion('3')
    .addBearerAuth({ type: 'http', bearerFormat: 'API key', description: 'The API key' })
    .addBasicAuth({ type: 'http', description: 'The API key as user name, no password' })
    .addSecurity('signature', {
      type: 'apiKey',
      in: 'header',
      name: 'Signature',
      description:
        'With Content-Digest and Signature-Input (RFC 9421, RFC 9530), by the identity key of an agent',
    })
    .build();
  return await controllersDocument({
    controllers,
    about,
    examples,
    errorExamples: errorExamples.components(),
  });
}
