import type { GatewayEndpoint } from '@certwright/gateway-contract';
import { withExamples } from '@certwright/service';
import {
  errorExamples,
  failsAnyway,
  failsAtProvider,
  failsPosted,
  failsWithHandle,
  type Reasons,
} from './errors';
import { examples } from './examples';
import { ref, type Schema, schemas } from './schemas';

interface Message {
  readonly summary: string;
  readonly description: string;
  /** Names of schemas. */
  readonly request: string;
  readonly answer: string;
  /** How it fails, besides what every message has. */
  readonly fails: Reasons;
}

const messages: Readonly<Record<GatewayEndpoint, Message>> = {
  make_integration: {
    summary: 'Makes an integration handle of credentials',
    description: 'They are checked at the provider; an OAuth code is used up by it.',
    ...{ request: 'MakeIntegration', answer: 'Integration' },
    fails: { invalid_value: 'The provider is not known, or the credentials cannot be opened' },
  },
  get_zones: {
    summary: 'Lists the zones that the credentials may change',
    description: 'As the provider tells them.',
    ...{ request: 'GetZones', answer: 'Zones' },
    fails: failsWithHandle,
  },
  add_record: {
    summary: 'Adds a record',
    description:
      'Only what the policy allows; docs/dns-gateway.md says what that is. Also where the record stands already, the answer is a handle that removes it.',
    ...{ request: 'AddRecord', answer: 'Added' },
    fails: {
      invalid_record: 'The record is not valid',
      out_of_range: 'The TTL is out of range',
      ...failsWithHandle,
      policy_violation: 'The record does not relate to the issuance of certificates',
      zone_not_found: 'No zone of the integration holds the name',
      record_conflict: 'Something else is at the name',
    },
  },
  remove_record: {
    summary: 'Removes a record that the gateway added',
    description: 'One that is gone already is a success.',
    ...{ request: 'RemoveRecord', answer: 'Removed' },
    fails: { ...failsWithHandle, zone_not_found: 'The zone is gone' },
  },
};

const json = (schema: Schema) => ({ content: { 'application/json': { schema } } });

const answersOf = (answer: string, fails: Reasons) => ({
  200: { description: 'Success', ...json(ref(answer)) },
  ...errorExamples.responses({ ...fails, ...failsAnyway }),
});

function posted(endpoint: string, { summary, description, request, answer, fails }: Message): object {
  return {
    post: {
      ...{ operationId: endpoint, summary, description },
      requestBody: { required: true, ...json(ref(request)) },
      responses: answersOf(answer, { ...failsPosted, ...fails, ...failsAtProvider }),
    },
  };
}

const description = {
  get: {
    operationId: 'description',
    summary: 'Tells what a customer needs for an integration',
    description: 'Nothing in it is secret.',
    parameters: [
      {
        ...{ name: 'account', in: 'query', required: true },
        description: 'Account of the platform, of which external ids are made.',
        schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
      },
    ],
    responses: answersOf('Description', { bad_query: 'The account is missing, or is not valid' }),
  },
};

/** The OpenAPI document of the gateway. */
export function openApiDocument(): object {
  const paths = Object.entries(messages).map(([endpoint, message]) => [
    `/${endpoint}`,
    posted(endpoint, message),
  ]);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Certwright: DNS integration gateway',
      version: '1',
      description:
        'Publishes records for the approval of domains at the DNS providers of customers, whose credentials only it can read. Each message may be repeated: the second time changes nothing more.',
    },
    servers: [{ url: '/' }],
    security: [{ clientCertificate: [] }],
    paths: { ...(Object.fromEntries(paths) as object), '/description': description },
    components: {
      securitySchemes: {
        clientCertificate: {
          type: 'mutualTLS',
          description: 'Of a private CA; GATEWAY_CLIENTS says which messages each client may send',
        },
      },
      schemas,
      examples: errorExamples.components(),
    },
  };
  return withExamples(document, examples);
}
