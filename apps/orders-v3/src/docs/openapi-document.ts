import { asJsonSchema2020, withExamples } from '@certwright/service';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { CertificatesController } from '../certificates/certificates.controller';
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
  WebhooksController,
  DeliveriesController,
  DnsProvidersController,
  DnsIntegrationsController,
  DownloadController,
  PublicationsController,
];

/** No route is ever called here, so what the controllers depend on stays empty. */
const providers = controllers
  .flatMap((controller) => Reflect.getMetadata('design:paramtypes', controller) as Type[])
  .map((dependency) => ({ provide: dependency, useValue: {} }));

@Module({ controllers, providers })
class DocumentedRoutes {}

/** The OpenAPI document, read off the controllers; neither database nor Redis is needed. */
export async function openApiDocument(): Promise<OpenAPIObject> {
  const app = await NestFactory.create(DocumentedRoutes, new FastifyAdapter(), {
    logger: false,
    abortOnError: false,
  });
  const about = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Certwright: orders')
    .setDescription('Issues TLS certificates and keeps them valid.')
    .setVersion('3')
    .addBearerAuth({ type: 'http', bearerFormat: 'API key', description: 'The API key' })
    .addBasicAuth({ type: 'http', description: 'The API key as user name, no password' })
    .build();
  try {
    const document = withExamples(SwaggerModule.createDocument(app, about), examples);
    return asJsonSchema2020({
      ...document,
      components: { ...document.components, examples: errorExamples.components() },
    });
  } finally {
    await app.close();
  }
}
