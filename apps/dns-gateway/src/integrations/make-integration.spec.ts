import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type CredentialKeys, readCredentialKeys } from '../credentials/credential-keys';
import { HandleKeys } from '../handles/handle-keys';
import { ProviderFault } from '../providers/provider-fault';
import { FakeProvider } from '../testing/fake-provider';
import { context, kept, outcomeOf, owner, ports } from '../testing/integration-parts';
import { MakeIntegration } from './make-integration';

const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
});
const credentialKeys = readCredentialKeys(String(pem)) as CredentialKeys;
const keys = new HandleKeys([randomBytes(32)]);
const credentials = { type: 'bearer' as const, ...kept };

let provider: FakeProvider;
let makes: MakeIntegration;
beforeEach(() => {
  provider = new FakeProvider();
  makes = new MakeIntegration(keys, new Map([[provider.name, provider]]), ports, credentialKeys);
});
const made = (change: object = {}, timeMs?: number) =>
  outcomeOf(makes.make({ ...owner, credentials, ...change }, context(timeMs)));
const keptIn = (response: unknown): unknown =>
  keys.openIntegration(owner, (response as { readonly integration: string }).integration).kept;

describe('make_integration', () => {
  it('tests the credentials at the provider and returns the handle', async () => {
    expect(keptIn(await made())).toEqual(kept);
    expect(provider.calls).toEqual(['accept', 'zones']);
    expect(provider.opened).toEqual([kept]);
  });

  it('returns a handle with the credentials renewed by the test', async () => {
    provider.renewed = { token: 'rotated' };
    expect(keptIn(await made())).toEqual({ token: 'rotated' });
  });

  it.each([['accept'], ['zones']] as const)('answers no handle when %s fails', async (step) => {
    provider.at[step] = () => Promise.reject(new ProviderFault('auth_failed', 'No.'));
    expect(await made()).toEqual({ code: 'provider_auth_failed' });
  });

  it.each([['accept'], ['zones']] as const)('answers a timeout when %s takes too long', async (step) => {
    provider.at[step] = () => new Promise(() => undefined);
    expect(await made({}, 30)).toEqual({ code: 'timeout' });
  });

  it('refuses credentials too long for a handle before testing them', async () => {
    const long = { type: 'bearer', a: 'x'.repeat(3_000), b: 'y'.repeat(3_000) };
    expect(await made({ credentials: long })).toEqual({ code: 'invalid_value', field: 'credentials' });
    expect(provider.calls).toEqual(['accept']);
  });

  it('refuses an unknown provider', async () => {
    expect(await made({ provider: 'gandi' })).toEqual({ code: 'invalid_value', field: 'provider' });
  });

  it('does not call the provider with sealed credentials that do not open', async () => {
    const sealed = { type: 'sealed', jwe: 'a.b.c.d.e' };
    expect(await made({ credentials: sealed })).toEqual({ code: 'invalid_value', field: 'credentials.jwe' });
    expect(provider.calls).toEqual([]);
  });
});
