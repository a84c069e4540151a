import type { OperationExamples } from '@certwright/service';

const owner = { account: '42', integration_id: '51230984412673', provider: 'desec' };
const integration = 'cwi1.Ks8vQ2mX7cT1nYb4Rj9wLf3hZ6dPg0aEoUiHtNsVq5xBk2yJm8rWz4lCf7';
const recordHandle = 'cwr1.Tn5xLq8vBz2kYc7mRw4jHd9sPf1gVa6eXo3uJi0tNb';

/** Examples of each operation, by its `operationId`. */
export const examples: Readonly<Record<string, OperationExamples>> = {
  make_integration: {
    request: {
      token: { ...owner, credentials: { type: 'bearer', token: 'i-T3b1h_OI-H9ab8tRS98stGtURe' } },
    },
    responses: { 200: { integration } },
  },
  get_zones: {
    request: { zones: { ...owner, integration } },
    responses: { 200: { zones: [{ id: 'example.com', name: 'example.com' }] } },
  },
  add_record: {
    request: {
      challenge: {
        ...{ ...owner, integration },
        record: {
          fqdn: '_acme-challenge.www.example.com',
          type: 'TXT',
          value: 'LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0',
          ttl: 60,
        },
      },
    },
    responses: { 200: { record_handle: recordHandle } },
  },
  remove_record: {
    request: { record: { ...owner, integration, record_handle: recordHandle } },
    responses: { 200: {} },
  },
  description: {
    responses: {
      200: {
        encryption_key: {
          kty: 'EC',
          crv: 'P-256',
          x: '-zO2A4_jOp7SgUSQrelBE3xtMsyhutmgJI65O9eLUJI',
          y: 'AIWt1-iCTbMHIRsfOSdOPIT2YLoF_fNv8qc_Pw48ALI',
          kid: 'fba964c2a82e0502',
        },
        providers: [
          {
            name: 'desec',
            title: 'deSEC',
            advice: 'Make a token that may change these domains only.',
            credentials: [
              {
                type: 'bearer',
                members: [{ name: 'token', meaning: 'An API token', secret: true, required: true }],
                authorization_url: null,
                principal: null,
                external_id: null,
              },
            ],
          },
        ],
      },
    },
  },
};
