import { controllersDocument } from '@certwright/service';
import type { OpenAPIObject } from '@nestjs/swagger';
import { credentialsSchema, credentialsSchemaName } from '../credentials/given-credentials';
import { DescriptionController } from '../description/description.controller';
import { GatewayController } from '../integrations/gateway.controller';
import { requestSchemas } from '../integrations/messages';
import { errorExamples } from '../wire/openapi';
import { examples } from './examples';

/** The OpenAPI document of the gateway. */
export async function openApiDocument(): Promise<OpenAPIObject> {
  const document = await controllersDocument({
    controllers: [GatewayController, DescriptionController],
    about: {
      openapi: '3.1.0',
      info: {
        title: 'Certwright: DNS integration gateway',
        version: '1',
        description:
          'Publishes records for the approval of domains at the DNS providers of customers, whose credentials only it can read. Each message may be repeated: the second time changes nothing more.',
      },
      servers: [{ url: '/' }],
      security: [{ clientCertificate: [] }],
      components: {
        securitySchemes: {
          clientCertificate: {
            type: 'mutualTLS',
            description: 'Of a private CA; GATEWAY_CLIENTS says which messages each client may send',
          } as never,
        },
      },
    },
    examples,
    errorExamples: errorExamples.components(),
  });
  const schemas = document.components?.schemas ?? {};
  for (const name of requestSchemas) schemas[name] = { ...schemas[name], additionalProperties: false };
  return {
    ...document,
    components: {
      ...document.components,
      schemas: { ...schemas, [credentialsSchemaName]: credentialsSchema as never },
    },
  };
}
