import {
  type GatewayMessages,
  type Integrated,
  type IntegrationOwner,
  providerNames,
} from '@certwright/gateway-contract';
import type { AddRequest } from './add-record';
import type { AskedRecord } from '../policy/record-policy';
import { readAnyCredentials } from '../wire/credentials-reader';
import { ObjectReader } from '../wire/object-reader';

type RequestOf<E extends keyof GatewayMessages> = GatewayMessages[E]['request'];

const accountPattern = /^[\x21-\x7e]{1,128}$/;
const integrationIdPattern = /^[A-Za-z0-9_-]{1,64}$/;

export function readMakeIntegration(body: unknown): RequestOf<'make_integration'> {
  const reader = new ObjectReader(body);
  const owner = readOwner(reader);
  const given = reader.value('credentials');
  reader.done();
  return { ...owner, credentials: readAnyCredentials(given) };
}

export function readGetZones(body: unknown): RequestOf<'get_zones'> {
  const reader = new ObjectReader(body);
  const integrated = readIntegrated(reader);
  reader.done();
  return integrated;
}

export function readAddRecord(body: unknown): AddRequest {
  const reader = new ObjectReader(body);
  const integrated = readIntegrated(reader);
  const record = readRecord(reader.object('record'));
  reader.done();
  return { ...integrated, record };
}

export function readRemoveRecord(body: unknown): RequestOf<'remove_record'> {
  const reader = new ObjectReader(body);
  const integrated = readIntegrated(reader);
  const handle = reader.text('record_handle', 'a record handle');
  reader.done();
  return { ...integrated, record_handle: handle };
}

export const isAccount = (value: unknown): value is string =>
  typeof value === 'string' && accountPattern.test(value);

function readOwner(reader: ObjectReader): IntegrationOwner {
  return {
    account: reader.text('account', '1 to 128 printable characters without spaces', isAccount),
    integration_id: reader.text('integration_id', '1 to 64 of letters, digits, _ and -', (text) =>
      integrationIdPattern.test(text),
    ),
    provider: reader.oneOf('provider', providerNames),
  };
}

function readIntegrated(reader: ObjectReader): Integrated {
  return { ...readOwner(reader), integration: reader.text('integration', 'an integration handle') };
}

/** Only its shape: what it says, the policy judges, and what that refuses stands in the audit log. */
function readRecord(reader: ObjectReader): AskedRecord {
  const fqdn = reader.text('fqdn', 'a name');
  const type = reader.text('type', 'a type of record');
  const value = reader.text('value', 'a text');
  const ttl = reader.optionalInteger('ttl');
  const replace = reader.optionalBoolean('replace');
  reader.doneInside();
  return {
    fqdn,
    type,
    value,
    ...(ttl === undefined ? {} : { ttl }),
    ...(replace === undefined ? {} : { replace }),
  };
}
