import { asJsonSchema2020, withExamples } from '@certwright/service';
import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { AccountController } from '../account/account.controller';
import { ClientVersionController } from '../account/client-version.controller';
import { ProductsController } from '../account/products.controller';
import { CertObjectsController } from '../cert-objects/cert-objects.controller';
import { ConfigTemplatesController } from '../config-templates/config-templates.controller';
import { InstallationTestController } from '../installation-test/installation-test.controller';
import { InstanceActionsController } from '../instance-actions/instance-actions.controller';
import { InstancesController } from '../instance-actions/instances.controller';
import { ParseCrtController } from '../instance-actions/parse-crt.controller';
import { InvoicesController } from '../invoices/invoices.controller';
import { CertsConfig } from '../config';
import { errorExamples } from '../wire/openapi/errors';
import { examples } from './examples';

const controllers = [
  CertObjectsController,
  InstanceActionsController,
  InstallationTestController,
  InstancesController,
  ParseCrtController,
  ProductsController,
  ConfigTemplatesController,
  ClientVersionController,
  AccountController,
  InvoicesController,
];

/** No route is ever called here, so what the controllers depend on stays empty. */
const providers = controllers
  .flatMap((controller) => (Reflect.getMetadata('design:paramtypes', controller) ?? []) as Type[])
  .concat(CertsConfig as unknown as Type)
  .map((dependency) => ({ provide: dependency, useValue: {} }));

@Module({ controllers, providers })
class DocumentedRoutes {}

/** Every path of the API begins with it. */
const server = '/api/v2';

const about: Omit<OpenAPIObject, 'paths'> = {
  openapi: '3.1.0',
  info: {
    title: 'Certwright: certificates',
    version: '2',
    description: 'Certificate objects keyed by common name, and their instances.',
  },
  servers: [{ url: server }],
  security: [{ basic: [] }, { bearer: [] }],
  components: {
    securitySchemes: {
      basic: {
        type: 'http',
        scheme: 'basic',
        description: 'The API key as user name with an empty password, or user name and password',
      },
      bearer: { type: 'http', scheme: 'bearer', description: 'The API key' },
    },
  },
};

/** The OpenAPI document, generated from the controllers; neither database nor Redis is needed. */
export async function openApiDocument(): Promise<OpenAPIObject> {
  const app = await NestFactory.create(DocumentedRoutes, new FastifyAdapter(), {
    logger: false,
    abortOnError: false,
  });
  try {
    const document = SwaggerModule.createDocument(app, about, { autoTagControllers: false });
    const paths = belowServer(document.paths as Paths);
    return asJsonSchema2020({
      ...withExamples({ ...document, paths }, examples),
      components: { ...document.components, examples: errorExamples.components() },
    });
  } finally {
    await app.close();
  }
}

type Paths = Readonly<Record<string, Readonly<Record<string, object>>>>;

/** Paths without that of the server; `POST /certs/{CN}/buy` has the operationId `postCertsCNBuy`. */
function belowServer(paths: Paths): Paths {
  const below = Object.entries(paths).map(([full, item]) => {
    const path = full.replace(server, '');
    const name = path.replace(/[/{}_.]+(\w?)/g, (_, first: string) => first.toUpperCase());
    const operations = Object.entries(item).map(([method, operation]) => [
      method,
      { ...operation, operationId: method + name },
    ]);
    return [path, Object.fromEntries(operations)] as const;
  });
  return Object.fromEntries(below) as Paths;
}
