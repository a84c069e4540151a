import { controllersDocument } from '@certwright/service';
import type { OpenAPIObject } from '@nestjs/swagger';
import { CertificatesController } from '../certificates/certificates.controller';
import { FirehoseController } from '../firehose/firehose.controller';
import { IssuancesController } from '../issuances/issuances.controller';
import { StatusController } from '../status/status.controller';
import { errorExamples, openApiOperation } from '../wire/openapi';
import { examples } from './examples';

/** The OpenAPI document of the search API. */
export async function openApiDocument(): Promise<OpenAPIObject> {
  return await controllersDocument({
    controllers: [IssuancesController, FirehoseController, CertificatesController, StatusController],
    about: {
      openapi: '3.1.0',
      info: {
        title: 'Certwright: certificate transparency search',
        version: '1',
        description:
          'Certificates that public logs have seen, by the domains they are for. A few queries an hour need no API key.',
      },
      servers: [{ url: '/v1' }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'The API key' },
          basic: {
            type: 'http',
            scheme: 'basic',
            description: 'The API key as user name, with an empty password',
          },
        },
      },
    },
    prefix: '/v1',
    morePaths: { '/openapi.json': { get: openApiOperation } },
    examples,
    errorExamples: errorExamples.components(),
  });
}
