import { X509Certificate } from 'node:crypto';
import { defineSettings, list } from '@certwright/service';
import { TestRoot } from '@certwright/testing';
import { clientGrant, ClientGrants } from './client-grants';
import { identityIn, isInForce } from './client-identity';

const worker = 'spiffe://certwright.internal/issuance-worker';
const authority = new TestRoot();
afterAll(() => authority.dispose());

const certificateWith = (names?: string): X509Certificate =>
  new X509Certificate(authority.certify({ names, use: 'clientAuth' }).certificate);

describe('the identity of a client', () => {
  it.each([
    ['is the one URI', `URI:${worker}`, worker],
    [
      'is the one URI beside names of other kinds',
      `DNS:worker.internal, URI:${worker}, IP:127.0.0.1`,
      worker,
    ],
    ['is none without a name', undefined, null],
    ['is none without a URI', 'DNS:certwright.internal', null],
    ['is none with two URIs', `URI:${worker}, URI:spiffe://certwright.internal/orders-v3`, null],
    ['is none with the same URI twice', `URI:${worker}, URI:${worker}`, null],
    ['is none when a DNS name looks like one', `DNS:URI.${'spiffe'}`, null],
    ['is none with a query', `URI:${worker}?a=b`, null],
    ['is none with a percent-encoding', 'URI:spiffe://certwright.internal/%69ssuance-worker', null],
    ['is none with a host in capitals', 'URI:spiffe://Certwright.internal/issuance-worker', null],
    ['is none with dots in its path', 'URI:spiffe://certwright.internal/../issuance-worker', null],
    ['is none with a slash at its end', `URI:${worker}/`, null],
    ['is none without a path', 'URI:spiffe://certwright.internal', null],
    ['is none of another scheme', 'URI:https://certwright.internal/issuance-worker', null],
  ])('%s', (_what, names, identity) => {
    expect(identityIn(certificateWith(names).subjectAltName)).toBe(identity);
  });

  it.each([
    ['a DNS name that holds the separator', `DNS:"a, URI:${worker}"`],
    ['a DNS name that holds a whole entry', `DNS:"a, URI:${worker}, b"`],
    ['a URI in quotes', `URI:"${worker}\\u0000.evil"`],
    ['a quoted name beside a plain one', `URI:${worker}, DirName:"CN = a\\, URI:b"`],
    ['an escape without quotes', `URI:${worker}\\u0000`],
    ['a control character', `URI:${worker}\0`],
    ['a letter beyond ASCII', `URI:${worker}, DNS:ä`],
  ])('is none with %s', (_what, text) => expect(identityIn(text)).toBeNull());

  it('is none with a comma in a name that the certificate does hold', () => {
    // In a section of its own, OpenSSL treats the comma as part of the name.
    const names = `@alt\n[alt]\nDNS.1=a, URI:${worker}`;
    const text = certificateWith(names).subjectAltName;
    expect(text).toBe(`DNS:"a\\u002c URI:${worker}"`);
    expect(identityIn(text)).toBeNull();
  });
});

it('a certificate is in force from its first second to its last', () => {
  const dates = { validFrom: 'Nov  1 00:00:00 2026 GMT', validTo: 'Nov 30 23:59:59 2026 GMT' };
  const at = (text: string): boolean => isInForce(dates, new Date(text));
  expect([at('2026-10-31T23:59:59Z'), at('2026-11-01T00:00:00Z')]).toEqual([false, true]);
  expect([at('2026-11-30T23:59:59Z'), at('2026-12-01T00:00:00Z')]).toEqual([true, false]);
  expect(isInForce({ validFrom: 'Bad time value', validTo: 'Bad time value' }, new Date())).toBe(false);
});

describe('GATEWAY_CLIENTS', () => {
  const settings = defineSettings({ GATEWAY_CLIENTS: list(clientGrant, { meaning: 'Who may' }) });
  const read = (text: string) => settings.read({ GATEWAY_CLIENTS: text }).GATEWAY_CLIENTS;

  it('is a closed list of identities and endpoints', () => {
    const clients = new ClientGrants(
      read(`${worker}=get_zones+add_record, spiffe://certwright.internal/orders-v3=make_integration`),
    );
    expect(clients.allows(worker, 'add_record')).toBe(true);
    expect(clients.allows(worker, 'remove_record')).toBe(false);
    expect(clients.allows(worker, 'make_integration')).toBe(false);
    expect(clients.allows('spiffe://certwright.internal/orders-v3', 'make_integration')).toBe(true);
    expect(clients.allows('spiffe://certwright.internal/admin', 'get_zones')).toBe(false);
    expect(clients.allows('__proto__', 'get_zones')).toBe(false);
  });

  it('rejects an identity that is listed twice', () => {
    expect(() => new ClientGrants(read(`${worker}=get_zones,${worker}=add_record`))).toThrow(
      'identity twice',
    );
  });

  it.each([
    'worker=add_record',
    worker,
    `${worker}=`,
    `${worker}=*`,
    `${worker}=add_record+add_record`,
    `${worker}=add_record=get_zones`,
    `${worker}=add_record+nothing`,
  ])('with %s is refused', (text) => expect(() => read(text)).toThrow('GATEWAY_CLIENTS has an entry that'));
});
