import { type SampleApi, startSampleApi } from '../testing/sample-api';

let api: SampleApi;
beforeAll(async () => {
  api = await startSampleApi();
});
afterAll(() => api.app.close());

const post = async (route: string, type: string, body: string) => {
  const response = await fetch(`http://127.0.0.1:${api.port}/${route}`, {
    method: 'POST',
    headers: { 'content-type': type },
    body,
  });
  const { code, body: read } = (await response.json()) as { code?: string; body?: unknown };
  return [response.status, code ?? read];
};

describe('a route that takes bodies of another media type', () => {
  it('gets the bytes with their type, without its parameters', async () => {
    expect(await post('notes', 'Application/X-Note; a=b', 'hello')).toEqual([
      200,
      { mediaType: 'application/x-note', bytes: Buffer.from('hello').toJSON() },
    ]);
  });

  it('takes JSON too, and no other type', async () => {
    expect(await post('notes', 'application/json', '{}')).toEqual([
      200,
      { value: {}, faults: [], unknownMembers: [] },
    ]);
    expect(await post('notes', 'application/x-other', 'hello')).toEqual([415, 'unsupported_media_type']);
  });

  it('refuses a private key in them', async () => {
    const { generateKeyPairSync } = await import('node:crypto');
    const { privateKey } = generateKeyPairSync('ed25519');
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect(await post('notes', 'application/x-note', `see below\n${pem}`)).toEqual([400, 'bad_request']);
  });
});

it('other routes do not take the type', async () => {
  expect(await post('echo', 'application/x-note', 'hello')).toEqual([415, 'unsupported_media_type']);
});

it('an empty body of type JSON is no body where none is needed, and is refused elsewhere', async () => {
  expect(await post('optional', 'application/json', '')).toEqual([
    200,
    { value: {}, faults: [], unknownMembers: [] },
  ]);
  expect(await post('echo', 'application/json', '')).toEqual([400, 'bad_request']);
});
